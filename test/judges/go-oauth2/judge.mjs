// Go's x/oauth2 and go-oidc, from the module proxy.
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { judgeClient } from '../oauth-clients.mjs';
import { run } from '../standard-webhooks.mjs';

const MODULES = ['golang.org/x/oauth2@v0.38.0', 'github.com/coreos/go-oidc/v3/oidc@v3.21.0'];

export const judge = {
  name: 'x/oauth2, Go',
  version: MODULES.join(', '),
  what: 'tokens by secret, refusals, token exchange, a workload; metadata and verification by go-oidc',
  needs: ['go'],
  run: (context) =>
    judgeClient(context, async () => {
      const options = { cwd: context.folder };
      copyFileSync(join(import.meta.dirname, 'main.go'), join(context.folder, 'main.go'));
      await run('go', ['mod', 'init', 'judge'], options);
      await run('go', ['get', ...MODULES], options);
      await run('go', ['build', '-o', 'judge', '.'], options);
      return [join(context.folder, 'judge')];
    }),
};
