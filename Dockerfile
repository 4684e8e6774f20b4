# Nothing but the program: no shell, no user but a number, no package of anybody's.
# There is no git in it, so a ledger in a git ref needs another image (docs/releasing.md).
FROM scratch
ARG TARGETPLATFORM
COPY .release/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY LICENSE .release/THIRD-PARTY-LICENSES /usr/share/doc/trueup/
COPY $TARGETPLATFORM/trueup /usr/bin/trueup
WORKDIR /work
USER 65532:65532
ENTRYPOINT ["/usr/bin/trueup"]
