'use strict';
// The page can be read without any of this: it filters, folds and unfolds.
(() => {
  const one = (selector) => document.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  // A link to an object opens it, and so does a page that is opened with one.
  const arrive = () => {
    let id = location.hash.slice(1);
    try { id = decodeURIComponent(id); } catch { /* it names no object */ }
    const target = document.getElementById(id);
    if (!target || !target.matches('.object')) return;
    if (target.hidden) form.reset();
    const details = target.querySelector('details');
    if (details) details.open = true;
    target.scrollIntoView();
    if (details) details.querySelector('summary').focus({preventScroll: true});
  };

  // Paper has nothing to press.
  let folded = [];
  addEventListener('beforeprint', () => {
    folded = all('details:not([open])');
    for (const details of folded) details.open = true;
  });
  addEventListener('afterprint', () => {
    for (const details of folded) details.open = false;
  });

  const form = one('#filter');
  if (!form) return;
  const input = one('#text');
  const objects = all('.object').map((element) => ({element, rows: all('[data-why]', element), text: '', n: Number(element.dataset.n || 1)}));
  const total = objects.reduce((n, object) => n + object.n, 0);
  const whys = (row) => row.dataset.why.split(' ');
  const rows = objects.reduce((n, object) => n + object.n * object.rows.flatMap(whys).length, 0);

  const chosen = (name) => new Set(all(`input[name=${name}]:checked`, form).map((box) => box.value));
  const count = (n, of, noun) => `${n === of ? n : `${n} of ${of}`} ${noun}${of === 1 ? '' : 's'}`;

  const apply = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const op = chosen('op'), kind = chosen('kind'), why = chosen('why');
    let shown = 0, lines = 0;
    for (const object of objects) {
      const {element} = object;
      if (words.length && !object.text) object.text = element.textContent.toLowerCase();
      const has = (!op.size || op.has(element.dataset.op)) && (!kind.size || kind.has(element.dataset.kind)) &&
        words.every((word) => object.text.includes(word));
      let some = 0;
      for (const row of object.rows) {
        const n = whys(row).filter((word) => !why.size || why.has(word)).length;
        row.hidden = !n;
        some += n;
      }
      element.hidden = !has || why.size > 0 && !some;
      if (!element.hidden) {
        shown += object.n;
        lines += object.n * some;
      }
    }
    const filtered = words.length + op.size + kind.size + why.size > 0;
    one('#clear').hidden = !filtered;
    one('#nothing').hidden = shown > 0;
    one('#shown').textContent = `${count(shown, total, 'object')}, ${count(lines, rows, 'line')}`;
  };

  const fold = (open) => {
    for (const {element} of objects) if (!element.hidden) element.firstElementChild.open = open;
  };

  let due = 0;
  input.addEventListener('input', () => {
    clearTimeout(due);
    due = setTimeout(apply, 60);
  });
  form.addEventListener('change', apply);
  form.addEventListener('submit', (event) => event.preventDefault());
  form.addEventListener('reset', () => {
    const here = form.contains(document.activeElement);
    setTimeout(() => {
      apply();
      if (here) input.focus();
    });
  });
  one('#expand').addEventListener('click', () => fold(true));
  one('#collapse').addEventListener('click', () => fold(false));
  addEventListener('keydown', (event) => {
    if (event.key === '/' && !event.ctrlKey && !event.metaKey && !event.altKey && event.target !== input) {
      event.preventDefault();
      input.focus();
      input.select();
    }
    if (event.key === 'Escape' && event.target === input) form.reset();
  });
  addEventListener('hashchange', arrive);

  form.hidden = false;
  apply();
  arrive();
})();
