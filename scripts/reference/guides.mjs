// Makes the guides of the pages in `docs`: where their links lead, and each as HTML and as Markdown. Pure.
import { posix } from 'node:path';
import { GUIDES, OPERATIONS, pathOfGuide } from './guide-list.mjs';
import { renderMarkdown, rewriteMarkdown } from './markdown.mjs';

/**
 * @param {ReadonlyMap<string, string>} texts the pages that are served, by name: `receiving`, `operations/README`
 * @returns {{ name: string, title: string, html: string, markdown: string, isForOperators: boolean }[]} `%BASE%` and
 *   `%URL%` stand for the path and the address of the tenant
 */
export function renderGuides(texts) {
  const ofMenu = new Map(GUIDES.map(({ name, title }) => [name, title]));
  const titles = new Map([...texts].map(([name, text]) => [name, ofMenu.get(name) ?? titleOf(text)]));
  return [...texts].map(([name, text]) => ({
    name,
    title: titles.get(name) ?? '',
    html: renderMarkdown(
      text,
      (href) => findAddress(href, name, texts, '%BASE%', ''),
      (href) => titles.get(nameOf(href, name)),
    ),
    markdown: rewriteMarkdown(text, (href) => findAddress(href, name, texts, '%URL%', '.md')),
    isForOperators: name.startsWith(`${OPERATIONS}/`),
  }));
}

/** The name of the page that a link of another page leads to. */
const nameOf = (href, name) => posix.join(posix.dirname(name), href.split('#')[0] ?? '').replace(/\.md$/, '');

const titleOf = (text) => (/^# (.*)$/m.exec(text)?.[1] ?? '').replaceAll('`', '');

/** @returns the address that a link of a page has here; undefined for a file that is not served */
function findAddress(href, name, texts, base, ending) {
  if (/^\w+:/.test(href)) return href;
  const [path = '', anchor] = href.split('#');
  const hash = anchor === undefined ? '' : `#${anchor}`;
  if (path === '') return ending === '' ? hash : `${base}${pathOfGuide(name)}${ending}${hash}`;
  if (posix.join('docs', posix.dirname(name), path) === 'openapi.json')
    return ending === '' ? '/openapi.json' : '%ORIGIN%/openapi.json';
  const guide = nameOf(href, name);
  return texts.has(guide) ? `${base}${pathOfGuide(guide)}${ending}${hash}` : undefined;
}
