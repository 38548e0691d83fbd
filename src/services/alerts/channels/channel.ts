import type { AlertChannel } from '../../../schemas/alerts.ts'
import type { Reply, SendMessage } from '../../outbound/http-sender.ts'
import type { SendMail } from '../../outbound/smtp-sender.ts'
import type { Notification } from '../notification.ts'

/** A channel's settings of one type. */
export type ChannelOf<Type extends AlertChannel['type']> = Extract<AlertChannel, { readonly type: Type }>

/** What channels send with. */
export interface ChannelTools {
  readonly send: SendMessage
  /** Undefined: the installation has no mail server. */
  readonly mail: SendMail | undefined
  readonly now: () => Date
}

/** A notification to send. */
export interface Dispatch {
  readonly notification: Notification
  readonly signal: AbortSignal
}

/** Sends a notification through a channel whose secrets are resolved; the reply says whether it arrived. */
export type SendThrough<Type extends AlertChannel['type']> = (
  tools: ChannelTools,
  channel: ChannelOf<Type>,
  dispatch: Dispatch,
) => Promise<Reply>

/** The header that all channels over HTTP send: the same id in every attempt. */
export function idHeader({ id }: Notification): Readonly<Record<string, string>> {
  return { 'Webhook-Id': id }
}
