// The commands with which an agent registers its first key, in three languages. Pure.
import type { CreatedEnrollment } from './types.ts';

export type Handed = Pick<CreatedEnrollment, 'tenant_id' | 'agent_id' | 'enroll_url'> & {
  readonly token: string;
};
type Write = (handed: Handed, issuer: string, scope: string) => string;

/** Each makes a key, keeps it in a file, and registers it; the packages get a token with it, too. */
export const ENROLLMENT_COMMANDS: Readonly<Record<'Shell' | 'JavaScript' | 'Python', Write>> = {
  Shell: ({ token, tenant_id, agent_id, enroll_url }) => `# curl and OpenSSL 3
openssl genpkey -algorithm ed25519 -out agent.pem && chmod 600 agent.pem
public_key() { openssl pkey -in agent.pem -pubout -outform DER | tail -c 32; }
printf 'SERVICE-KEY-PROOF-V1\\n%s\\n%s\\n%s' ${tenant_id} ${agent_id} \\
  "$(public_key | openssl dgst -sha256 -r | cut -c1-64)" > proof.txt
curl -sS ${enroll_url} -H 'content-type: application/json' -d @- <<END
{"token": "${token}", "algorithm": "ed25519",
 "public_key": "$(public_key | openssl base64 -A)",
 "proof": "$(openssl pkeyutl -sign -rawin -inkey agent.pem -in proof.txt | openssl base64 -A)"}
END
`,
  JavaScript: (handed, issuer, scope) =>
    [
      '// agent.mjs, with the package @countersign/agent',
      "import { createAgent } from '@countersign/agent';",
      "import { loadOrCreateKey } from '@countersign/agent/node';",
      '',
      `const issuer = ${JSON.stringify(issuer)};`,
      "const key = await loadOrCreateKey('agent.json');",
      `const agent = await createAgent({ issuer, key, scope: ${JSON.stringify(scope)} });`,
      `await agent.enroll(${JSON.stringify(handed, null, 2)}); // once`,
      // biome-ignore lint/suspicious/noTemplateCurlyInString: it is one of the program
      'const answer = await agent.fetch(`${issuer}/auth/agent/self`);',
      'console.log(answer.status, (await answer.json()).name);',
      '',
    ].join('\n'),
  Python: (handed, issuer, scope) => `# agent.py, with the package countersign-agent
from countersign_agent import Agent, Key

issuer = ${JSON.stringify(issuer)}
agent = Agent(issuer, Key.load_or_generate("agent.pem"), scope=${JSON.stringify(scope)})
agent.enroll(${JSON.stringify(handed, null, 4)})  # once
answer = agent.request("GET", f"{issuer}/auth/agent/self")
print(answer.status, answer.json()["name"])
`,
};

const PATH = '/auth/agent/enroll';

/** @returns the issuer's address, to which the path of the enrollment belongs */
export function issuerOf({ enroll_url }: Pick<Handed, 'enroll_url'>): string {
  return enroll_url.slice(0, -PATH.length);
}
