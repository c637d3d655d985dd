// Schemas of anchors in requests and answers. They normalize domain names.
import { z } from 'zod';
import { pageSchema } from '../../platform/http/answers.ts';
import { idFields, pageParameters } from '../../platform/http/field-schemas.ts';
import { present } from '../../platform/http/present.ts';
import { ANCHOR_STATUSES, ANCHOR_TYPES, type Anchor, normalizeDomain } from './anchor.ts';
import { errorOf, isLive } from './anchor-check.ts';

const type = z.enum(ANCHOR_TYPES).meta({
  description:
    '`domain_https`: the proof is the text of `https://<value>/.well-known/countersign-anchor.txt`. `domain_dns`: it is a TXT record at `_countersign.<value>`.',
});
const timestamp = z.iso.datetime();

/** Source: Specification, "Anchor", "Anchor and delegation". */
export const anchorSchema = z
  .strictObject({
    ...idFields('anchor_id'),
    agent_id: z.uuid(),
    type,
    value: z
      .string()
      .meta({ description: 'The domain name: lower case, A-labels, without a dot at its end.' }),
    status: z.enum(ANCHOR_STATUSES).meta({
      description:
        'An anchor begins `pending`. It is `verified` once its proof was found, and `failed` when that did not happen before `expires_at`. It is `revoked` by request, with its agent, and when the proof of a verified one is gone for three days.',
    }),
    proof: z.string().meta({
      description:
        'The text to publish, alone: for `domain_https` at `https://<value>/.well-known/countersign-anchor.txt`, for `domain_dns` as a TXT record at `_countersign.<value>`.',
    }),
    expires_at: timestamp.meta({ description: 'Until then the proof of a pending anchor is looked for.' }),
    verified_at: timestamp.nullable(),
    revoked_at: timestamp.nullable(),
    created_at: timestamp,
    last_checked_at: timestamp
      .nullable()
      .meta({ description: 'When the proof was looked for the last time.' }),
    last_error: z
      .string()
      .nullable()
      .meta({
        description:
          'What the latest look met instead of the proof, null when it found it: `mismatch` (another text), `http:<status>` (redirects are not followed), `dns:<code>`, `connect:<code>`, `tls:<code>`, `timeout:<phase>`, `blocked_address:<network>`, `too_large`, `encoded`, and others of this form.',
        examples: ['http:404'],
      }),
    missing_since: timestamp.nullable().meta({
      description: 'Since when the proof of a verified anchor is not found. It is revoked three days later.',
    }),
    next_check_at: timestamp.nullable().meta({
      description: 'When the proof is looked for next; null when the anchor has failed or is revoked.',
    }),
  })
  .meta({ id: 'Anchor' });

export const anchorListSchema = pageSchema(anchorSchema, 'AnchorList');

export const agentAnchorsParams = z.object({ agent_id: z.uuid() });
export const anchorParams = z.object({ agent_id: z.uuid(), anchor_id: z.uuid() });

export const anchorListQuery = z.object({
  ...pageParameters,
  type: z.enum(ANCHOR_TYPES).optional(),
  status: z.enum(ANCHOR_STATUSES).optional(),
});

const value = z
  .string()
  .min(1)
  .max(1_000)
  .transform((text, issue) => {
    const normalized = normalizeDomain(text);
    if ('domain' in normalized) return normalized.domain;
    issue.addIssue({ code: 'custom', message: normalized.problem });
    return z.NEVER;
  })
  .meta({
    description:
      'A domain name of the public DNS with at least two labels: no scheme, port or path, no IP address. Upper case and international names are taken and brought to their ASCII form.',
    examples: ['agents.example.com'],
  });

export const createAnchorBody = z.strictObject({ type, value }).meta({ id: 'NewAnchor' });

export const revokeAnchorBody = z
  .strictObject({
    reason: z.string().min(1).max(500).optional().meta({ description: 'For the audit log.' }),
  })
  .meta({ id: 'AnchorRevocation' });

/** Converts an anchor to its JSON answer. */
export function presentAnchor(anchor: Anchor) {
  return present(anchorSchema, anchor, {
    anchor_id: anchor.id,
    last_error: errorOf(anchor),
    next_check_at: isLive(anchor) ? anchor.nextCheckAt : null,
  });
}
