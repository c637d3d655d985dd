// Every column that holds sealed secrets: read by a start check and by `countersign master-key`.
import { SEALED_ISSUER_KEYS } from '../../authentication/issuer/wire.ts';
import { SEALED_SUBSCRIPTIONS } from '../../webhooks/subscriptions/wire.ts';

export const SEALED_COLUMNS = [SEALED_ISSUER_KEYS, ...SEALED_SUBSCRIPTIONS];
