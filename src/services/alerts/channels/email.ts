import { sha256Hex } from '../../../lib/sha256.ts'
import { SendProblem } from '../../outbound/delivery-outcome.ts'
import { cut, type Notification } from '../notification.ts'
import type { SendThrough } from './channel.ts'

const MAX_SUBJECT = 200

/** A mail in plain text, through the mail server of the installation. */
export const sendByMail: SendThrough<'email'> = async ({ mail }, { to }, { notification, signal }) => {
  if (mail === undefined) throw new SendProblem('SMTP_URL and SMTP_FROM are not set')
  const { id, dedupKey } = notification
  const thread = sha256Hex(dedupKey).slice(0, 32)
  return mail({ id, thread, to, subject: subjectOf(notification), text: textOf(notification) }, signal)
}

function subjectOf({ title, kind, severity }: Notification): string {
  const mark = kind === 'resolve' ? 'resolved' : severity
  return cut(`[${mark}] ${title}`.replaceAll(/\s+/g, ' '), MAX_SUBJECT)
}

function textOf({ title, facts, event, alert }: Notification): string {
  const lines = facts.map(({ name, value }) => `${name}: ${value}`)
  return [title, '', ...lines, '', `${event.at}, alert "${alert.name}" of Lockhouse`].join('\n')
}
