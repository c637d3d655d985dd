// Lays out the pages of the API reference: one for each group of operations, one of errors, and the first with all
// names. Pure.
import { fromInline, fromMarkdown, html, slugOf } from './html.mjs';
import { showOperation } from './operation.mjs';

const ERRORS_PAGE = '/docs/errors';

/** @returns the pages by path; `%BASE%` and `%URL%` stand for the path and the address of the tenant */
export function renderPages({ document, errors, advice }, assets) {
  const groups = groupOperations(document);
  const find = (ref) => {
    const [, , kind = '', name = ''] = ref.split('/');
    return document.components?.[kind]?.[name];
  };
  /** @returns {[path: string, page: string]} */
  const lay = (title, path, main) => [path, layOut({ title, path, groups, assets }, main).html];
  return new Map([
    lay('Countersign', '/', showHome()),
    lay('API reference', '/docs', showFirst(document, groups)),
    lay('Errors', ERRORS_PAGE, showErrorCodes(errors, advice)),
    ...groups.map((group) => lay(group.name, pathOf(group), showGroup(group, find))),
  ]);
}

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

function layOut({ title, path, groups, assets }, main) {
  const link = (to, name) =>
    html`<li><a href="%BASE%${to}"${to === path ? { html: ' aria-current="page"' } : ''}>${name}</a></li>`;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title === 'Countersign' ? title : `${title} · Countersign`}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="%BASE%${assets.style}">
<script type="module" src="%BASE%${assets.script}"></script>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header><a class="brand" href="%BASE%/docs">Countersign</a>
<label class="search" hidden>Find <input type="search" autocomplete="off" placeholder="an operation, path or code" aria-keyshortcuts="/"></label>
<a href="%BASE%/console">Console</a></header>
<div class="columns">
<nav aria-label="Reference"><ul>${link('/docs', 'All operations')}${link(ERRORS_PAGE, 'Errors')}</ul>
<p class="title">Groups</p><ul>${groups.map((group) => link(pathOf(group), group.name))}</ul></nav>
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
<li><a href="%BASE%/docs">API reference</a>: every operation, with examples</li>
<li><a href="%BASE%/docs/errors">Errors</a>: each code, and what to do</li>
<li><a href="/openapi.json">openapi.json</a>: the same for programs</li>
<li><a href="%BASE%/.well-known/oauth-authorization-server">Metadata of the issuer</a></li>
</ul>`;
}

function showFirst({ info }, groups) {
  return html`<h1>API reference</h1>
<p class="address"><b>Base URL</b> <code>%URL%</code></p>
${fromMarkdown(info.description ?? '')}
<p>For programs: <a href="/openapi.json">openapi.json</a> (OpenAPI 3.1). In examples, <code>$TOKEN</code> is an access token,
which <code>POST %URL%/oauth/token</code> gives for client credentials, and <code>countersign token</code> prints;
other words after a <code>$</code> are ids that you put there.</p>
<p class="found" role="status"></p>
${groups.map(showNames)}`;
}

function showNames(group) {
  return html`<section class="group"><h2><a href="%BASE%${pathOf(group)}">${group.name}</a></h2>
${fromMarkdown(group.description)[0]}
<div class="wide"><table class="names"><tbody>${group.operations.map(
    ({ method, path, operation: { operationId, summary } }) => html`<tr class="name">
<td><b class="method ${method}">${method.toUpperCase()}</b></td><td><code>${path}</code></td>
<td><a href="%BASE%${pathOf(group)}#${operationId}">${summary}</a></td></tr>`,
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
