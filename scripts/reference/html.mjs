// Makes HTML from texts: each is escaped that is not marked as HTML. Pure.
const ESCAPES = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

export const escapeHtml = (text) => text.replace(/[&<>"']/g, (sign) => ESCAPES[sign] ?? sign);

/** A template whose values are escaped, unless they are HTML. */
export function html(texts, ...parts) {
  return { html: texts.map((text, index) => text + write(parts[index])).join('') };
}

function write(part) {
  if (part === undefined) return '';
  if (typeof part === 'string' || typeof part === 'number') return escapeHtml(String(part));
  return 'html' in part ? part.html : part.map(write).join('');
}

/** The part of Markdown that descriptions of the API have: paragraphs, lists, and marks within a line. */
export function fromMarkdown(text) {
  return text.split('\n\n').map((block) => {
    if (!block.startsWith('- ')) return html`<p>${fromInline(block)}</p>`;
    return html`<ul>${block
      .slice(2)
      .split('\n- ')
      .map((item) => html`<li>${fromInline(item)}</li>`)}</ul>`;
  });
}

/** `code`, **strong** and [links](https://…) within one line of text. */
export function fromInline(text) {
  const parts = text
    .split('`')
    .map((part, index) =>
      index % 2 === 1 ? html`<code>${part}</code>` : html`${part.split('**').map(fromStrong)}`,
    );
  return html`${parts}`;
}

function fromStrong(text, index) {
  return index % 2 === 1 ? html`<b>${fromLinks(text)}</b>` : fromLinks(text);
}

function fromLinks(text) {
  const parts = [];
  let rest = text;
  for (;;) {
    const middle = rest.indexOf('](https://');
    const open = rest.lastIndexOf('[', middle);
    const close = rest.indexOf(')', middle);
    if (middle < 0 || open < 0 || close < 0) return html`${[...parts, rest]}`;
    const link = html`<a href="${rest.slice(middle + 2, close)}">${rest.slice(open + 1, middle)}</a>`;
    parts.push(rest.slice(0, open), link);
    rest = rest.slice(close + 1);
  }
}

/** The form of a name in addresses: "Agent keys" is `agent-keys`. */
export const slugOf = (name) => name.toLowerCase().replace(/[^a-z0-9]+/g, '-');
