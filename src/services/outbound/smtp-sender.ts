import type { createTransport } from 'nodemailer'

import { SendProblem } from './delivery-outcome.ts'
import type { Reply } from './http-sender.ts'

/** The mail server of this installation, and who its mails are from. */
export interface MailServer {
  readonly host: string
  readonly port: number
  /** `implicit`: from the first byte; `required`: by STARTTLS, before anything else is said; `none`: never. */
  readonly tls: 'implicit' | 'required' | 'none'
  readonly user: string | undefined
  readonly password: string | undefined
  readonly from: string
  /** Trusted certificates in addition to those of the runtime, in PEM. */
  readonly ca?: string
}

/** A mail in plain text. */
export interface Mail {
  readonly to: readonly string[]
  readonly subject: string
  readonly text: string
  /** The part of the message id before the `@`; the same in every attempt. */
  readonly id: string
  /** Mails with the same text belong together in mail programs. */
  readonly thread: string
}

/** Sends a mail; the reply has the status of SMTP. Rejects when there was none. */
export type SendMail = (mail: Mail, signal: AbortSignal) => Promise<Reply>

/** Less than the time of an attempt, so that the connection ends with it. */
const LIMIT_MS = 9000

/** Sends mails through a mail server, over one connection each. */
export function createSmtpSender(server: MailServer): SendMail {
  let transport: ReturnType<typeof createTransport> | undefined
  const domain = /@([^\s<>@]+)>?$/.exec(server.from)?.[1] ?? 'localhost'
  return async ({ to, subject, text, id, thread }, signal) => {
    transport ??= await openTransport(server)
    const sending = transport.sendMail({
      from: server.from,
      to: [...to],
      subject,
      text,
      messageId: `<${id}@${domain}>`,
      references: `<${thread}@${domain}>`,
      headers: { 'Auto-Submitted': 'auto-generated' },
    })
    try {
      await Promise.race([sending, aborted(signal)])
      return { status: 250 }
    } catch (error) {
      return replyOf(error)
    }
  }
}

async function openTransport({ host, port, tls, user, password, ca }: MailServer) {
  const { createTransport } = await import('nodemailer')
  return createTransport({
    host,
    port,
    secure: tls === 'implicit',
    requireTLS: tls === 'required',
    ignoreTLS: tls === 'none',
    ...(user === undefined ? {} : { auth: { user, pass: password ?? '' } }),
    ...(ca === undefined ? {} : { tls: { ca } }),
    connectionTimeout: LIMIT_MS,
    greetingTimeout: LIMIT_MS,
    socketTimeout: LIMIT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const end = (): void => reject(signal.reason instanceof Error ? signal.reason : new Error('aborted'))
    if (signal.aborted) end()
    else signal.addEventListener('abort', end, { once: true })
  })
}

/** What the server answered instead of taking the mail. Throws when it answered nothing, or nothing about the mail. */
function replyOf(error: unknown): Reply {
  if (!(error instanceof Error)) throw error
  const status = 'responseCode' in error && typeof error.responseCode === 'number' ? error.responseCode : undefined
  const code = 'code' in error ? error.code : undefined
  if (code === 'ETLS') throw new SendProblem('the connection to the mail server could not be encrypted')
  if (code === 'EAUTH') {
    const answer = status === undefined ? '' : ` (${status})`
    throw new SendProblem(`the mail server refused the user or the password${answer}`)
  }
  if (status === undefined) throw error
  return { status }
}
