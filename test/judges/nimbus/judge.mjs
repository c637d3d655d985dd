// The OAuth 2.0 SDK of Nimbus for Java, from Maven Central.
import { buildJava, judgeClient } from '../oauth-clients.mjs';

const VERSION = '11.38.2';

export const judge = {
  name: 'Nimbus, Java',
  version: `oauth2-oidc-sdk ${VERSION}`,
  what: 'metadata, tokens by secret and by key, DPoP, refusals, introspection, revocation, exchange, a workload',
  needs: ['java', 'javac', 'mvn'],
  run: (context) =>
    judgeClient(context, () =>
      buildJava(context, [`com.nimbusds:oauth2-oidc-sdk:${VERSION}`], import.meta.dirname),
    ),
};
