// The routes of a tenant's issuer keys: their schedule, rotation and revocation.
import type { RequestContext } from '../../platform/context.ts';
import { accepted, ok } from '../../platform/http/answers.ts';
import { defineRoutes, type Route } from '../../platform/http/route.ts';
import {
  issuerKeyParams,
  issuerKeyScheduleSchema,
  presentSchedule,
  revokeIssuerKeyBody,
  rotateIssuerKeysBody,
} from './issuer-key.schemas.ts';
import type { IssuerKeyService } from './issuer-key.service.ts';
import type { Schedule } from './key-schedule.ts';

const COMMON = {
  tag: 'Issuer keys',
  about: 'The keys that sign access tokens: when each does, rotation and revocation.',
  read: 'tenant:read',
  write: 'tenant:write',
} as const;
const ROOT = '/api/v1/tenant/issuer-keys';

/** @param workflows address of Temporal's web UI */
export function createIssuerKeyRoutes({
  issuerKeys,
  eventKeys,
  workflows,
}: {
  issuerKeys: IssuerKeyService;
  eventKeys: Pick<IssuerKeyService, 'read' | 'exists' | 'revoke'>;
  workflows: { readonly uiUrl: string; readonly namespace: string };
}): Route[] {
  const present = async (context: RequestContext, schedule: Schedule) => {
    const { tenant, transaction } = context;
    return presentSchedule(
      [schedule, await eventKeys.read({ tenant, transaction })],
      { tenantId: tenant.id, nextRotationAt: issuerKeys.nextRotation(schedule) },
      workflows,
    );
  };

  return defineRoutes(COMMON, [
    {
      method: 'GET',
      path: ROOT,
      operationId: 'getIssuerKeys',
      summary: 'Read the schedule of the issuer keys',
      responses: { 200: { description: 'The schedule', schema: issuerKeyScheduleSchema } },
      handler: async ({ context }) => ok(await present(context, await issuerKeys.read(context))),
    },
    {
      method: 'POST',
      path: `${ROOT}/rotate`,
      operationId: 'rotateIssuerKeys',
      summary: 'Let the next issuer key sign as soon as every verifier can know it',
      description:
        'Immediate when the next key has been published for ten minutes, else when it will have been. What the present key has signed goes on verifying. Rotations asked for within ten minutes of one another are one rotation.',
      idempotent: true,
      request: { body: rotateIssuerKeysBody },
      responses: { 202: { description: 'The schedule', schema: issuerKeyScheduleSchema } },
      handler: async ({ context, body }) =>
        accepted(await present(context, await issuerKeys.rotate(context, body))),
    },
    {
      method: 'POST',
      path: `${ROOT}/:kid/revoke`,
      operationId: 'revokeIssuerKey',
      summary: 'Revoke an issuer key now, with everything that it has signed',
      description:
        'For a key that somebody else may hold. It leaves the JWKS, and the next key signs, else a new one. Within a second every route of this service and introspection refuse what it has signed: also the access token of this request, if that key signed it. Resource servers refuse it once they have fetched the JWKS again.',
      request: { params: issuerKeyParams, body: revokeIssuerKeyBody },
      exists: async (context, { kid }) =>
        (await issuerKeys.exists(context, kid)) || eventKeys.exists(context, kid),
      responses: { 200: { description: 'The schedule', schema: issuerKeyScheduleSchema } },
      handler: async ({ context, params: { kid }, body }) => {
        const isEventKey = await eventKeys.exists(context, kid);
        if (isEventKey) await eventKeys.revoke(context, kid, body);
        const schedule = isEventKey
          ? await issuerKeys.read(context)
          : await issuerKeys.revoke(context, kid, body);
        return ok(await present(context, schedule));
      },
    },
  ]);
}
