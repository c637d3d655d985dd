// An agent that calls the tools of server.mjs: the client of the MCP SDK, with the `fetch` of @countersign/agent.
import { createAgent, generateKey } from '@countersign/agent';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const { ISSUER: issuer, RESOURCE = 'http://localhost:8000/mcp', HANDED } = process.env;

const say = (text) => process.stdout.write(`${text}\n`);

const agent = await createAgent({ issuer, key: await generateKey() });
await agent.enroll(JSON.parse(HANDED));
const client = new Client({ name: 'caller', version: '1.0.0' });
await client.connect(new StreamableHTTPClientTransport(new URL(RESOURCE), { fetch: agent.fetch }));
const { content } = await client.callTool({ name: 'list_orders' });
say(content[0].text);
await client.callTool({ name: 'read_secret' }).catch(({ message }) => say(message));
await client.close();
