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

/** The form of a name in addresses: "Agent keys" is `agent-keys`. */
export const slugOf = (name) => name.toLowerCase().replace(/[^a-z0-9]+/g, '-');
