// Shows one operation of the OpenAPI document: what it takes, an example with curl, what it answers. Pure.
import { html } from './html.mjs';
import { fromInline, fromMarkdown } from './markdown.mjs';
import { showFields, showRow } from './schema.mjs';

/** Headers that every operation takes. */
const COMMON = new Set(['x-request-id']);

/** @param find reads a component by its reference */
export function showOperation(operation, { method, path }, find) {
  const { operationId, summary, description = '', requestBody } = operation;
  const [media = '', body] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  const fields = body?.schema && showFields(body.schema, find);
  return html`<section class="operation" id="${operationId}">
<h2><a href="#${operationId}">${summary}</a></h2>
<p class="address"><b class="method ${method}">${method.toUpperCase()}</b> <code>${path}</code></p>
${fromMarkdown(description)}
${showParameters(operation, find)}
${fields === undefined ? '' : html`<h3>Body <small>${media}</small></h3>${fields}`}
<h3>Example</h3>${showCurl({ method, path }, operation, media, body, find)}
${Object.entries(operation.responses)
  .filter(([status]) => status < '400')
  .map(([status, answer]) => showAnswer(status, answer, find))}
${showErrors(operation)}
</section>`;
}

function showParameters({ parameters = [] }, find) {
  const own = parameters
    .map((parameter) => (parameter.$ref === undefined ? parameter : (find(parameter.$ref) ?? {})))
    .filter(({ name = '' }) => !COMMON.has(name));
  if (own.length === 0) return '';
  const rows = own.map(({ name = '', in: place, required = false, description, schema = {} }) => {
    const meaning = description ?? schema.description;
    const described = {
      ...schema,
      description: `In the ${place}.${meaning === undefined ? '' : ` ${meaning}`}`,
    };
    return showRow({ name, schema: described, isRequired: required }, find);
  });
  return html`<h3>Parameters</h3><div class="wide"><table>
<thead><tr><th scope="col">Name</th><th scope="col">Type</th><th scope="col">Meaning</th></tr></thead>
<tbody>${rows}</tbody></table></div>`;
}

function showCurl({ method, path }, { security = [] }, media, body, find) {
  const value = exampleOf(body, find);
  const schemes = security.flatMap((one) => Object.keys(one));
  const lines = [
    `curl ${method === 'get' ? '' : `-X ${method.toUpperCase()} `}"%URL%${withVariables(path)}"`,
    ...(schemes.includes('bearer') ? ['  -H "authorization: Bearer $TOKEN"'] : []),
    ...(schemes.includes('basic') ? ['  -u "$CLIENT_ID:$CLIENT_SECRET"'] : []),
    ...(value === undefined ? [] : dataOf(media, value)),
  ];
  return html`<pre tabindex="0"><code>${lines.join(' \\\n')}</code></pre>`;
}

/** `/agents/{agent_id}` becomes `/agents/$AGENT_ID`. */
function withVariables(path) {
  const parts = path.split('/');
  return parts.map((part) => (part.startsWith('{') ? `$${part.slice(1, -1).toUpperCase()}` : part)).join('/');
}

function dataOf(media, value) {
  if (media === 'application/json') {
    const text = JSON.stringify(value, null, 2).replaceAll("'", "'\\''").replaceAll('\n', '\n  ');
    return ["  -H 'content-type: application/json'", `  -d '${text}'`];
  }
  return Object.entries(value ?? {}).map(([name, part]) => `  --data-urlencode '${name}=${String(part)}'`);
}

function exampleOf(media, find) {
  const [example] = Object.values(media?.examples ?? {});
  if (example?.$ref === undefined) return example?.value;
  return find(example.$ref)?.value;
}

function showAnswer(status, answer, find) {
  const target = answer.$ref === undefined ? answer : (find(answer.$ref) ?? {});
  const [media, body] = Object.entries(target.content ?? {})[0] ?? [];
  const value = exampleOf(body, find);
  const fields = body?.schema && showFields(body.schema, find);
  return html`<h3><b class="status">${status}</b> <small>${media}</small></h3>
<p>${fromInline(target.description ?? '')}</p>
${fields === undefined ? '' : html`<details><summary>Fields of the answer</summary>${fields}</details>`}
${value === undefined ? '' : html`<pre tabindex="0"><code>${JSON.stringify(value, null, 2)}</code></pre>`}`;
}

/** Statuses of errors; the codes and what to do stand on the page of errors. */
function showErrors({ responses }) {
  const statuses = Object.keys(responses).filter((status) => status >= '400');
  if (statuses.length === 0) return '';
  return html`<p class="errors">Errors: ${statuses.map((status) => html`<a href="%BASE%/docs/errors#${status}">${status}</a> `)}</p>`;
}
