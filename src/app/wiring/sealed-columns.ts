// Every column that holds sealed secrets, for a start check and `countersign master-key`.
import { SEALED_ISSUER_KEYS } from '../../authentication/issuer/issuer-key.ts';
import { SEALED_USERS } from '../../authentication/users/user-sealing.service.ts';
import { SEALED_SUBSCRIPTIONS } from '../../webhooks/subscriptions/subscription-sealing.service.ts';

export const SEALED_COLUMNS = [...SEALED_ISSUER_KEYS, ...SEALED_USERS, ...SEALED_SUBSCRIPTIONS];
