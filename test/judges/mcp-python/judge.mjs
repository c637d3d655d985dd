// The SDK of the Model Context Protocol for Python (3.11 or later), from PyPI.
import { join } from 'node:path';
import { installPython, judgeClient } from '../oauth-clients.mjs';

const VERSION = '2.3.0';

export const judge = {
  name: 'MCP SDK, Python',
  version: `mcp ${VERSION}`,
  what: 'both providers of its client-credentials extension call a tool of its server; refusals',
  needs: ['python3'],
  run: (context) =>
    judgeClient(context, async () => [
      await installPython(context, [`mcp==${VERSION}`]),
      join(import.meta.dirname, 'client.py'),
    ]),
};
