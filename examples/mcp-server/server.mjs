// An MCP server whose tools are for agents with a token of Countersign. A client finds the issuer by itself: the answer
// 401 names the protected resource metadata (RFC 9728), and that names the issuer.
import { createGuard, followRevocations } from '@countersign/resource-server';
import { agentOf, requireAgent, serveMetadata } from '@countersign/resource-server/express';
import { createMcpExpressApp } from '@modelcontextprotocol/sdk/server/express.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';

const { ISSUER, RESOURCE = 'http://localhost:8000/mcp', CLIENT_ID, CLIENT_SECRET } = process.env;

/** Each tool with the scope that it needs. `run` gets the agent that calls. */
const TOOLS = {
  list_orders: {
    scope: 'openid',
    description: 'The orders of the agent that asks',
    run: ({ actor, delegation }) => ({ agent: actor, user: delegation?.user, orders: ['o-1001'] }),
  },
  read_secret: { scope: 'vault:read', description: 'A secret of the vault', run: () => '42' },
};

const revocations = followRevocations({
  issuer: ISSUER,
  credentials: { clientId: CLIENT_ID, clientSecret: CLIENT_SECRET },
});
const guard = createGuard({
  issuer: ISSUER,
  audience: RESOURCE,
  revocations,
  metadata: {
    resource_name: 'Orders',
    scopes_supported: [...new Set(Object.values(TOOLS).map(({ scope }) => scope))],
  },
});

/** The scopes of all tools that a request calls; a batch calls several. */
const scopesOf = (body) =>
  [body]
    .flat()
    .flatMap((message) => (message?.method === 'tools/call' && TOOLS[message.params?.name]?.scope) || []);

const app = createMcpExpressApp();
app.use(serveMetadata(guard));
app.use('/mcp', (request, response, next) =>
  requireAgent(guard, { scope: scopesOf(request.body), delegated: 'accept' })(request, response, next),
);
app.post('/mcp', async (request, response) => {
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
  await createServer(agentOf(request)).connect(transport);
  await transport.handleRequest(request, response, request.body);
});

/** A server for one request: the protocol without sessions, so that each call shows its token. */
function createServer(agent) {
  const server = new McpServer({ name: 'orders', version: '1.0.0' });
  for (const [name, { description, run }] of Object.entries(TOOLS))
    server.registerTool(name, { description }, () => ({
      content: [{ type: 'text', text: JSON.stringify(run(agent)) }],
    }));
  return server;
}

await revocations.ready();
app.listen(Number(new URL(RESOURCE).port), () => process.stdout.write(`listening at ${RESOURCE}\n`));
