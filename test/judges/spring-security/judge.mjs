// The OAuth2 client and resource server of Spring Security, from Maven Central.
import { buildJava, judgeClient } from '../oauth-clients.mjs';

const VERSION = '7.1.2';
const PARTS = ['oauth2-client', 'oauth2-jose', 'oauth2-resource-server'];

const ARTIFACTS = [
  ...PARTS.map((part) => `org.springframework.security:spring-security-${part}:${VERSION}`),
  // Spring reads JSON with it.
  'tools.jackson.core:jackson-databind:3.3.0',
];

export const judge = {
  name: 'Spring Security, Java',
  version: VERSION,
  what: 'metadata, tokens by secret and by key, refusals, JWT decoder, introspection, exchange, a workload',
  needs: ['java', 'javac', 'mvn'],
  run: (context) => judgeClient(context, () => buildJava(context, ARTIFACTS, import.meta.dirname)),
};
