// Searches within the names on a page of the reference. Without this script all of it can be read.
const field = document.querySelector('.search');
const input = field?.querySelector('input');
const found = document.querySelector('.found');
const names = [...document.querySelectorAll('.name')];

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

if (input && found && names.length > 0) {
  field.hidden = false;
  input.addEventListener('input', search);
  document.addEventListener('keydown', (event) => {
    if (event.key === '/' && document.activeElement !== input) {
      event.preventDefault();
      input.focus();
    }
  });
}
