import type { IdSource } from '../domain/ids.ts'
import { createAlertDispatcher } from '../services/alerts/alert-dispatcher.ts'
import { type AlertService, createAlertService } from '../services/alerts/alert-service.ts'
import type { SecretOf } from '../services/alerts/channel-secrets.ts'
import { newSigningSecret } from '../services/alerts/channels/signature.ts'
import type { DeliveryLoop } from '../services/alerts/delivery-loop.ts'
import type { Logger } from '../services/logger.ts'
import type { OpenLineageEmitter } from '../services/lineage/openlineage/emitter.ts'
import type { SendMessage } from '../services/outbound/http-sender.ts'
import type { SendMail } from '../services/outbound/smtp-sender.ts'
import { isLocalName } from '../services/outbound/target-url.ts'
import { createAlertDeliveryStore } from '../storage/stores/alerts/alert-delivery-store.ts'
import { createAlertStore } from '../storage/stores/alerts/alert-store.ts'
import { createEventStore } from '../storage/stores/event-store.ts'
import type { State } from './open-state.ts'

export interface AlertParts {
  readonly allowPrivate: boolean
  readonly secretOf: SecretOf
  readonly send: SendMessage
  readonly mail: SendMail | undefined
  readonly openLineage: OpenLineageEmitter | undefined
  readonly newId: IdSource
  readonly now: () => Date
  readonly log: Logger
  readonly randomBytes: (length: number) => Uint8Array
  readonly retryDelaysMs?: readonly number[] | undefined
}

/** Creates the alert service, and the dispatcher, which sends notifications once it is started. */
export function openAlerts(
  state: State,
  { allowPrivate, secretOf, send, mail, randomBytes, ...parts }: AlertParts,
): { readonly alerts: AlertService; readonly alertDispatcher: DeliveryLoop } {
  const { db } = state
  const deps = {
    ...parts,
    ...state,
    alerts: createAlertStore(db),
    deliveries: createAlertDeliveryStore(db),
    eventStore: createEventStore(db),
    rules: {
      secretOf,
      isAllowedHost: (host: string) => allowPrivate || !isLocalName(host),
      newSigningSecret: () => newSigningSecret(randomBytes),
      canMail: mail !== undefined,
    },
    tools: { send, mail, now: parts.now },
  }
  return { alerts: createAlertService(deps), alertDispatcher: createAlertDispatcher(deps) }
}
