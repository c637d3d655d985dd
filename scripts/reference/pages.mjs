// Lays out the pages for developers: the API reference with a page for each group of operations, one of errors and the
// first with all names, and the guides. Pure.
import { GUIDES, pathOfGuide } from './guide-list.mjs';
import { html, slugOf } from './html.mjs';
import { fromInline, fromMarkdown } from './markdown.mjs';
import { showOperation } from './operation.mjs';

const ERRORS_PAGE = '/docs/errors';

/** @returns the pages by path; `%BASE%` and `%URL%` stand for the path and the address of the tenant */
export function renderPages({ document, errors, advice, guides }, assets) {
  const groups = groupOperations(document);
  const find = (ref) => {
    const [, , kind = '', name = ''] = ref.split('/');
    return document.components?.[kind]?.[name];
  };
  const menu = [
    { links: linksTo([FIRST, [ERRORS_PAGE, 'Errors']]) },
    { title: 'Guides', links: linksTo(GUIDES.map(({ name, title }) => [pathOfGuide(name), title])) },
    { title: 'Operations of the API', links: linksTo(groups.map((group) => [pathOf(group), group.name])) },
  ];
  const forOperators = guides.filter(({ isForOperators }) => isForOperators);
  const runbooks = linksTo(forOperators.map(({ name, title }) => [pathOfGuide(name), title]));
  const ofOperators = [{ links: linksTo([FIRST]) }, { title: 'For operators', links: runbooks }];
  /** @returns {[path: string, page: string]} */
  const lay = (title, path, main, others = {}) => [
    path,
    layOut({ title, path, menu, assets, ...others }, main).html,
  ];
  return new Map([
    lay('Countersign', '/', showHome()),
    lay('Guides and API reference', FIRST[0], showFirst(document, groups)),
    lay('Errors', ERRORS_PAGE, showErrorCodes(errors, advice)),
    ...groups.map((group) => lay(group.name, pathOf(group), showGroup(group, find))),
    lay(
      'Guides',
      pathOfGuide(),
      html`<h1>Guides</h1>${listGuides()}
<p>For those who run the service: <a href="%BASE%${pathOfGuide('operations/README')}">runbooks</a>.</p>`,
    ),
    ...guides.map(({ name, title, html: text, isForOperators }) =>
      lay(title, pathOfGuide(name), html`<article class="guide">${{ html: text }}</article>`, {
        hasMarkdown: true,
        ...(isForOperators ? { menu: ofOperators } : {}),
      }),
    ),
  ]);
}

const FIRST = ['/docs', 'All guides and operations'];

const linksTo = (entries) => entries.map(([to, name]) => ({ to, name }));

const pathOf = ({ name }) => `/docs/${slugOf(name)}`;

function groupOperations({ tags = [], paths }) {
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  );
  return tags
    .map(({ name, description = '' }) => ({
      name,
      description,
      operations: all.filter(({ operation }) => operation.tags?.[0] === name),
    }))
    .filter(({ operations }) => operations.length > 0);
}

function layOut({ title, path, menu, assets, hasMarkdown = false }, main) {
  const link = ({ to, name }) =>
    html`<li><a href="%BASE%${to}"${to === path ? { html: ' aria-current="page"' } : ''}>${name}</a></li>`;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title === 'Countersign' ? title : `${title} · Countersign`}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="%BASE%${assets.style}">${
    hasMarkdown ? html`\n<link rel="alternate" type="text/markdown" href="%BASE%${path}.md">` : ''
  }
<script type="module" src="%BASE%${assets.script}"></script>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header><a class="brand" href="%BASE%/docs">Countersign</a>
<label class="search" hidden>Find <input type="search" autocomplete="off" placeholder="an operation, path or code" aria-keyshortcuts="/"></label>
<a href="%BASE%/console">Console</a></header>
<div class="columns">
<nav aria-label="Documentation">${menu.map(
    ({ title: head, links }) =>
      html`${head === undefined ? '' : html`<p class="title">${head}</p>`}<ul>${links.map(link)}</ul>`,
  )}</nav>
<main id="main" tabindex="-1">${main}</main>
</div>
</body>
</html>`;
}

function showHome() {
  return html`<h1>Countersign</h1>
<p>This is the address of a tenant: <code>%URL%</code></p>
<ul class="links">
<li><a href="%BASE%/console">Console</a>: agents, deliveries, events and the audit log of this tenant</li>
<li><a href="%BASE%/docs">Guides and API reference</a>: how to receive deliveries, log agents in and guard an API; every operation, with examples</li>
<li><a href="%BASE%/docs/errors">Errors</a>: each code, and what to do</li>
<li><a href="/openapi.json">openapi.json</a>: the same for programs</li>
<li><a href="%BASE%/.well-known/oauth-authorization-server">Metadata of the issuer</a></li>
</ul>`;
}

function showFirst({ info }, groups) {
  return html`<h1>Guides and API reference</h1>
<p class="address"><b>Base URL</b> <code>%URL%</code></p>
${fromMarkdown(info.description ?? '')}
<p>For programs: <a href="/llms.txt">llms.txt</a>, <a href="/openapi.json">openapi.json</a> (OpenAPI 3.1), and each guide as
Markdown, at its address with <code>.md</code>. In examples, <code>$TOKEN</code> is an access token,
which <code>POST %URL%/oauth/token</code> gives for client credentials, and <code>countersign token</code> prints;
other words after a <code>$</code> are ids that you put there.</p>
<p class="found" role="status"></p>
<section class="group"><h2><a href="%BASE%${pathOfGuide()}">Guides</a></h2>${listGuides()}</section>
${groups.map(showNames)}`;
}

function listGuides() {
  return html`<ul class="guides">${GUIDES.map(
    ({ name, title, about }) =>
      html`<li class="name"><a href="%BASE%${pathOfGuide(name)}">${title}</a>: ${about}</li>`,
  )}</ul>`;
}

function showNames(group) {
  return html`<section class="group"><h2><a href="%BASE%${pathOf(group)}">${group.name}</a></h2>
${fromMarkdown(group.description.split('\n\n')[0] ?? '')}
<div class="wide"><table class="names"><tbody>${group.operations.map(
    ({ method, path, operation: { operationId, summary } }) => html`<tr class="name">
<td><b class="method ${method}">${method.toUpperCase()}</b></td>
<td><a href="%BASE%${pathOf(group)}#${operationId}">${summary}</a></td><td><code>${path}</code></td></tr>`,
  )}</tbody></table></div></section>`;
}

function showGroup({ name, description, operations }, find) {
  return html`<h1>${name}</h1>${fromMarkdown(description)}
<ul class="contents">${operations.map(({ method, operation: { operationId, summary } }) => html`<li><b class="method ${method}">${method.toUpperCase()}</b> <a href="#${operationId}">${summary}</a></li>`)}</ul>
${operations.map(({ method, path, operation }) => showOperation(operation, { method, path }, find))}`;
}

/** Each code has an anchor, also as the end of `type` has it, and each status has one at its first code. */
function showErrorCodes(errors, advices) {
  const seen = new Set();
  const rows = errors.map(({ code, statuses, title, meaning, retryable, reserved }) => {
    const first = statuses.filter((status) => !seen.has(status));
    for (const status of first) seen.add(status);
    const inType = code.replaceAll('_', '-');
    const anchors = [...first.map(String), ...(inType === code ? [] : [inType])];
    const advice = reserved ? 'Not used yet.' : (advices[code] ?? '');
    return html`<tr id="${code}" class="name"><td>${anchors.map((anchor) => html`<span id="${anchor}"></span>`)}<a href="#${code}"><code>${code}</code></a>
<br>${title}</td><td>${statuses.join(', ')}</td><td>${retryable ? 'yes' : 'no'}</td>
<td>${fromInline(meaning)}</td><td>${fromInline(advice)}</td></tr>`;
  });
  return html`<h1>Errors</h1>
<p>Every error is a problem (RFC 7807) with the members <code>error</code>, <code>detail</code> and <code>request_id</code>. Act on
<code>error</code>; <code>detail</code> is for people. The header <code>link</code> leads to the code's line on this page. A code that may be
repeated can succeed when the same request is sent again, after the time in <code>Retry-After</code>.</p>
<p class="found" role="status"></p>
<div class="wide"><table class="errors"><thead><tr><th scope="col">Code</th><th scope="col">Status</th><th scope="col">May be repeated</th>
<th scope="col">Meaning</th><th scope="col">What to do</th></tr></thead><tbody>${rows}</tbody></table></div>`;
}
