// Finds names: on a page that lists them within that page, on others on the page of all names; copies code. Without
// this script all of it can be read.
const field = document.querySelector('.search');
const input = field.querySelector('input');
const found = document.querySelector('.found');
const names = [...document.querySelectorAll('.name')];
const ASKED = '#find=';

/** Shows the names that have all words. */
function search() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const name of names) {
    const text = name.textContent.toLowerCase();
    name.hidden = !words.every((word) => text.includes(word));
    if (!name.hidden) count += 1;
  }
  for (const group of document.querySelectorAll('.group'))
    group.hidden = [...group.querySelectorAll('.name')].every((name) => name.hidden);
  found.textContent = words.length === 0 ? '' : `${count} of ${names.length} found`;
}

field.hidden = false;
document.addEventListener('keydown', (event) => {
  if (event.key !== '/' || document.activeElement === input) return;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  input.focus();
});
if (found === null)
  input.addEventListener('keydown', ({ key }) => {
    if (key === 'Enter')
      location.href = `${document.querySelector('.brand').href}${ASKED}${encodeURIComponent(input.value)}`;
  });
else {
  input.addEventListener('input', search);
  if (location.hash.startsWith(ASKED)) {
    input.value = decodeURIComponent(location.hash.slice(ASKED.length));
    input.focus();
    search();
  }
}

if (navigator.clipboard)
  for (const pre of document.querySelectorAll('pre')) {
    const box = document.createElement('div');
    const button = document.createElement('button');
    box.className = 'code';
    button.textContent = 'Copy';
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(pre.textContent);
      button.textContent = 'Copied';
      setTimeout(() => {
        button.textContent = 'Copy';
      }, 2_000);
    });
    pre.replaceWith(box);
    box.append(pre, button);
  }
