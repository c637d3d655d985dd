// jose judges the token of each delivery, by the keys that it fetches itself.
import { captureDeliveries } from '../standard-webhooks.mjs';

export const judge = {
  name: 'jose: createRemoteJWKSet, jwtVerify',
  version: 'jose 6.2.17',
  what: 'the JWT of each delivery under load, over a rotation and a revocation of the issuer key',
  needs: [],
  run: async ({ say }) => (await captureDeliveries(say)).tokens,
};
