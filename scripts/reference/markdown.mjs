// Renders a page of Markdown: anchors as on GitHub, code with marks of its syntax, no HTML of the page's own. Pure.
import hljs from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import java from 'highlight.js/lib/languages/java';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import python from 'highlight.js/lib/languages/python';
import sql from 'highlight.js/lib/languages/sql';
import typescript from 'highlight.js/lib/languages/typescript';
import { Marked, Renderer } from 'marked';
import { escapeHtml } from './html.mjs';

const LANGUAGES = { sh: bash, java, js: javascript, json, python, sql, ts: typescript };
for (const [name, language] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, language);

/** The anchor of a heading, by its text. */
export const anchorOf = (text) =>
  text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');

/**
 * @param {string} text
 * @param {(href: string) => string | undefined} addressOf where a link leads; undefined: its text stays, as no link
 * @param {(href: string) => string | undefined} titleOf what a link says that has only the name of a file
 * @returns {string} HTML
 */
export function renderMarkdown(text, addressOf, titleOf = () => undefined) {
  return String(openMarked(addressOf, titleOf).parse(text));
}

function openMarked(addressOf, titleOf) {
  const plain = new Renderer();
  // A head without words is no head.
  plain.tablecell = ({ header, tokens }) => {
    const inside = plain.parser.parseInline(tokens);
    return header && inside !== '' ? `<th scope="col">${inside}</th>` : `<td>${inside}</td>`;
  };
  const renderer = {
    heading({ tokens, depth, text: heading }) {
      const anchor = anchorOf(heading);
      const inside = this.parser.parseInline(tokens);
      return depth === 1
        ? `<h1 id="${anchor}">${inside}</h1>\n`
        : `<h${depth} id="${anchor}"><a href="#${anchor}">${inside}</a></h${depth}>\n`;
    },
    link({ href, tokens, text: words }) {
      const title = /^[\w/-]+\.md$/.test(words) ? titleOf(href) : undefined;
      const inside = title === undefined ? this.parser.parseInline(tokens) : escapeHtml(title);
      const address = addressOf(href);
      return address === undefined ? inside : `<a href="${escapeHtml(address)}">${inside}</a>`;
    },
    // The pictures show the console and Temporal, which the reader has.
    image: () => '',
    html: ({ text: raw }) => escapeHtml(raw),
    code({ text: code, lang = '' }) {
      const [language = '', file] = lang.split(' ');
      const inside = hljs.getLanguage(language) ? hljs.highlight(code, { language }).value : escapeHtml(code);
      const name = file === undefined ? '' : `<p class="file">${escapeHtml(file)}</p>\n`;
      return `${name}<pre tabindex="0"><code>${inside}</code></pre>\n`;
    },
    table(token) {
      plain.parser = this.parser;
      const table = plain.table(token).replace(/<thead>\s*<tr>\s*(<td><\/td>\s*)+<\/tr>\s*<\/thead>/, '');
      return `<div class="wide">${table}</div>\n`;
    },
  };
  return new Marked({ renderer });
}

/** The same page as Markdown: its links lead to what is served, and its pictures are left out. */
export function rewriteMarkdown(text, addressOf) {
  const marked = new Marked();
  let changed = text;
  void marked.walkTokens(marked.lexer(text), (token) => {
    if (token.type === 'image')
      changed = changed.replaceAll(`${token.raw}\n\n`, '').replaceAll(token.raw, '');
    if (token.type !== 'link' || !token.raw.startsWith('[')) return;
    const address = addressOf(token.href);
    changed = changed.replaceAll(
      token.raw,
      address === undefined ? token.text : `[${token.text}](${address})`,
    );
  });
  return changed;
}

/** For descriptions of the API, whose links lead to other hosts. */
const descriptions = openMarked(
  (href) => (href.startsWith('https://') ? href : undefined),
  () => undefined,
);

/** A description of the API as HTML. */
export const fromMarkdown = (text) => ({ html: String(descriptions.parse(text)) });

/** One line of it, without a paragraph around. */
export const fromInline = (text) => ({ html: String(descriptions.parseInline(text)) });
