#!/bin/sh
# Installs the trueup of this commit into a folder:
#
#   install.sh [--download | --build] DIR
#
# The commit of a release has checksums.txt. The archive for this system is downloaded
# and must have the SHA-256 that stands there, so any mirror will do. Other commits, and
# archives that can't be had, are built from source with Go; --download ends with 3
# instead, and --build does nothing else.
#
# TRUEUP_DOWNLOAD is the address of a folder that has v1.2.3/trueup_1.2.3_linux_amd64.tar.gz;
# none means to build. Without it, this is the releases page of the host of the clone.
# TRUEUP_CACHE is a folder to keep archives in.
set -eu

say() { # LEVEL TEXT
  if [ -n "${GITHUB_ACTIONS:-}" ]; then
    printf '::%s title=trueup::%s\n' "$1" "$2"
  else
    printf '%s: %s\n' "$1" "$2"
  fi >&2
}

fail() {
  say error "$1"
  exit 1
}

# build lets Go ask git for the commit in a clone of another user too, as in_clone does.
build() {
  command -v go >/dev/null || fail "building trueup needs Go, which is not here. Install it, or pin the commit of a release"
  n=${GIT_CONFIG_COUNT:-0}
  export GIT_CONFIG_COUNT=$((n + 1)) "GIT_CONFIG_KEY_$n=safe.directory" "GIT_CONFIG_VALUE_$n=*"
  CGO_ENABLED=0 GOFLAGS='' GOWORK=off go build -C "$source" -trimpath -buildvcs=true -ldflags='-s -w' -o "$dir/trueup" .
}

# sha256 prints the checksum of a file.
sha256() {
  if command -v sha256sum >/dev/null; then sha256sum <"$1"; else shasum -a 256 <"$1"; fi | cut -c 1-64
}

# fetch downloads a file. An address may have a password, which other users could read
# among the arguments of a program.
fetch() { # ADDRESS FILE
  if command -v curl >/dev/null; then
    printf 'url = "%s"\n' "$1" | curl -fsSLg --retry 3 --connect-timeout 10 --max-time 300 -o "$2" --config -
    return
  fi
  case $(wget --help 2>&1),$1 in
  # GNU's needs to be told to send the password unasked, as others do.
  *--auth-no-challenge*) printf '%s\n' "$1" | wget -q -T 30 --auth-no-challenge -O "$2" -i - ;;
  # That of BusyBox would also send it to where the host redirects.
  *,*@*) say warning "this wget can't keep a password to one host: install curl" && return 1 ;;
  *) wget -q -T 30 -O "$2" "$1" ;;
  esac
}

# keep copies an archive to the cache in one step, because other jobs may read it.
keep() {
  mkdir -p "$TRUEUP_CACHE" && new=$(mktemp "$TRUEUP_CACHE/.new.XXXXXX") &&
    cp "$1" "$new" && chmod 644 "$new" && mv -f "$new" "$TRUEUP_CACHE/$archive"
}

# in_clone runs git in the clone, if this is one and not a folder in another. In a
# container, the clone may be another user's.
in_clone() {
  [ -e "$source/.git" ] && git -c safe.directory='*' -C "$source" "$@" 2>/dev/null
}

# releases prints the address of the host's releases, nothing if it is not known.
releases() {
  origin=$(in_clone remote get-url origin) || return 0
  case $origin in
  http://* | https://*) origin=${origin%/} && printf '%s/releases/download\n' "${origin%.git}" ;;
  esac
}

# parents prints the commits before this one. Git writes them into the archives that it makes.
parents() {
  in_clone cat-file commit HEAD | sed -n 's/^parent //p'
  [ -e "$source/.git" ] || sed -n 's/^[0-9a-f]* [0-9]* //p' "$source/internal/command/commit.txt" 2>/dev/null
}

# download installs the archive, or sets reason to why it can't be had.
download() {
  [ "${TRUEUP_DOWNLOAD:-}" != none ] || { reason='TRUEUP_DOWNLOAD is none' && return; }
  [ -f "$source/checksums.txt" ] || { reason='this commit is no release' && return; }
  case $(uname -s) in Linux) os=linux ;; Darwin) os=darwin ;; *) os=$(uname -s) ;; esac
  case $(uname -m) in x86_64 | amd64) arch=amd64 ;; aarch64 | arm64) arch=arm64 ;; *) arch=$(uname -m) ;; esac
  entry=$(grep -E "^[0-9a-f]{64}  trueup_[0-9][0-9A-Za-z.-]*_${os}_$arch\.tar\.gz\$" "$source/checksums.txt") || { reason="the release has no archive for $os/$arch" && return; }
  want=${entry%% *}
  archive=${entry##* }
  version=${archive#trueup_}
  version=v${version%"_${os}_$arch.tar.gz"}
  if ! { [ -n "${TRUEUP_CACHE:-}" ] && cp "$TRUEUP_CACHE/$archive" "$work/$archive" && [ "$(sha256 "$work/$archive")" = "$want" ]; } 2>/dev/null; then
    address=${TRUEUP_DOWNLOAD:-$(releases)}
    [ -n "$address" ] || { reason='no address to download from is known: set TRUEUP_DOWNLOAD' && return; }
    address=${address%/}/$version/$archive
    shown=$(printf '%s\n' "$address" | sed 's|//[^/]*@|//|')
    # A host that wants a token may answer with its page to sign in.
    if ! { fetch "$address" "$work/$archive" && gzip -t <"$work/$archive" 2>/dev/null; }; then
      reason="can't download $shown"
      say warning "$reason, so trueup is built from source, which takes minutes. Set TRUEUP_DOWNLOAD to a mirror, or to none"
      return
    fi
    got=$(sha256 "$work/$archive")
    [ "$got" = "$want" ] || fail "$shown has the SHA-256 $got, and checksums.txt of this commit says $want. Nothing is installed: replace the file there, or set TRUEUP_DOWNLOAD to another mirror"
    [ -z "${TRUEUP_CACHE:-}" ] || keep "$work/$archive" || say warning "can't keep the archive in $TRUEUP_CACHE"
  fi
  tar -xzf "$work/$archive" -C "$work" "${archive%.tar.gz}/trueup"
  program=$work/${archive%.tar.gz}/trueup
  # The commit of a release adds checksums.txt to the one that the archive was built from.
  built=$(parents | cut -c 1-12)
  case $("$program" version) in
  "trueup $version, commit $built"*) mv -f "$program" "$dir/trueup" ;;
  "trueup $version, "*) reason="commits were made since $version" ;;
  *) fail "the program in $archive does not run here, or is not $version. Nothing is installed: set TRUEUP_DOWNLOAD to none to build from source" ;;
  esac
}

how=any
case ${1:-} in
--download | --build) how=${1#--} && shift ;;
esac
[ $# = 1 ] || fail 'usage: install.sh [--download | --build] DIR'
source=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
dir=$(cd "$1" && pwd)

if [ "$how" = build ]; then
  build
  exit
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
reason=
download
if [ -n "$reason" ]; then
  echo "building trueup from source: $reason" >&2
  [ "$how" = any ] || exit 3
  build
fi
"$dir/trueup" version
