// Stands before a Lambda handler as API Gateway does: makes an event of each request, and an answer of what it returns.
// Usage: lambda-gateway.mjs <module that exports `handler`> <payload>
import { createServer } from 'node:http';
import { pathToFileURL } from 'node:url';

const [, , program, payload] = process.argv;
const { handler } = await import(pathToFileURL(program).href);

/** Names as they were sent, each with all its values. */
function listed(rawHeaders) {
  const lists = {};
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at];
    lists[name] = [...(lists[name] ?? []), rawHeaders[at + 1]];
  }
  return lists;
}

const base64 = (bytes) => ({ body: bytes.toString('base64'), isBase64Encoded: true });
const text = (bytes) => ({ body: bytes.length === 0 ? null : bytes.toString(), isBase64Encoded: false });

/** REST API, "Input format of a Lambda function for proxy integration". */
function makeRest({ method, url, rawHeaders }, body) {
  const multiValueHeaders = listed(rawHeaders);
  const last = Object.entries(multiValueHeaders).map(([name, values]) => [name, values.at(-1)]);
  return {
    resource: '/hooks',
    path: url,
    httpMethod: method,
    headers: Object.fromEntries(last),
    multiValueHeaders,
    queryStringParameters: null,
    multiValueQueryStringParameters: null,
    pathParameters: null,
    stageVariables: null,
    requestContext: { httpMethod: method, path: url, stage: 'prod', identity: { sourceIp: '127.0.0.1' } },
    ...body,
  };
}

/** HTTP API and function URLs, payload format version 2.0. */
function makeHttp({ method, url, rawHeaders }, body) {
  const joined = Object.entries(listed(rawHeaders)).map(([name, values]) => [
    name.toLowerCase(),
    values.join(','),
  ]);
  return {
    version: '2.0',
    routeKey: 'POST /hooks',
    rawPath: url,
    rawQueryString: '',
    headers: Object.fromEntries(joined),
    requestContext: {
      http: { method, path: url, protocol: 'HTTP/1.1', sourceIp: '127.0.0.1' },
      stage: '$default',
    },
    ...body,
  };
}

const PAYLOADS = {
  '1.0': (request, bytes) => makeRest(request, text(bytes)),
  '1.0-base64': (request, bytes) => makeRest(request, base64(bytes)),
  '2.0': (request, bytes) => makeHttp(request, text(bytes)),
  '2.0-base64': (request, bytes) => makeHttp(request, base64(bytes)),
};

createServer(async (incoming, outgoing) => {
  const chunks = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const answer = await handler(PAYLOADS[payload](incoming, Buffer.concat(chunks)), {});
  const encoding = answer.isBase64Encoded ? 'base64' : 'utf8';
  outgoing
    .writeHead(answer.statusCode, { ...answer.headers, ...answer.multiValueHeaders })
    .end(Buffer.from(answer.body ?? '', encoding));
}).listen(Number(process.env.PORT), '127.0.0.1');
