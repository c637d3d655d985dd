// The route that describes the subject of a token (OpenID Connect Core §5.3).
import { z } from 'zod';
import { ok } from '../../platform/http/answers.ts';
import { defineRoute, type Route } from '../../platform/http/route.ts';
import { delegationClaims } from './access-token.ts';
import type { UserinfoService } from './userinfo.service.ts';

const userinfoSchema = z
  .strictObject({
    sub: z.string(),
    subject_type: z.literal('agent'),
    tenant_id: z.uuid(),
    name: z.string().optional(),
    agent: z.strictObject({ name: z.string(), capabilities: z.array(z.string()) }).optional(),
    delegated_subject: delegationClaims.delegated_subject,
    act: delegationClaims.act,
  })
  .meta({ id: 'Userinfo' });

/** `GET /userinfo` (OpenID Connect Core §5.3), for a token with the scope `openid`. */
export function createUserinfoRoutes({ userinfo }: { userinfo: UserinfoService }): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/userinfo',
      operationId: 'getUserinfo',
      summary: "Tell whose a token is; for any of the issuer's audiences",
      tag: 'Tokens',
      scope: 'openid',
      anyAudience: true,
      delegated: true,
      responses: { 200: { description: 'The subject of the token', schema: userinfoSchema } },
      handler: async ({ context }) => ok(await userinfo.describe(context)),
    }),
  ];
}
