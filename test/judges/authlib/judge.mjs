// Authlib for requests and httpx, from PyPI.
import { join } from 'node:path';
import { installPython, judgeClient } from '../oauth-clients.mjs';

const PACKAGES = ['authlib==1.9.6', 'requests==2.34.2', 'httpx==0.28.1'];

export const judge = {
  name: 'Authlib, Python',
  version: PACKAGES.join(', '),
  what: 'metadata, tokens by secret and by key, refusals, introspection, revocation, token exchange, a workload',
  needs: ['python3'],
  run: (context) =>
    judgeClient(context, async () => [
      await installPython(context, PACKAGES),
      join(import.meta.dirname, 'client.py'),
    ]),
};
