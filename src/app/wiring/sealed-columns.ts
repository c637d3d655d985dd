// Every column that holds sealed secrets, for a start check and `countersign master-key`.
import { SEALED_ISSUER_KEYS } from '../../authentication/issuer/wire.ts';
import { SEALED_SUBSCRIPTIONS } from '../../webhooks/subscriptions/wire.ts';

export const SEALED_COLUMNS = [...SEALED_ISSUER_KEYS, ...SEALED_SUBSCRIPTIONS];
