import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { until } from '../waiting.ts'

/** A mail as the server received it. */
export interface ReceivedMail {
  readonly from: string
  readonly to: readonly string[]
  readonly isEncrypted: boolean
  readonly user: string | undefined
  /** Header lines and text, unfolded and decoded from quoted-printable. */
  readonly source: string
}

/** A real mail server on loopback, which can refuse. */
export interface MailServer {
  readonly port: number
  readonly received: ReceivedMail[]
  /** The statuses with which the next mails are refused. */
  refusals: number[]
  until(count: number): Promise<void>
  close(): Promise<void>
}

/** The user and the password that a {@link MailServer} accepts. */
export const ACCOUNT = { user: 'lockhouse', password: 'a password: with @ and /' }

/** Starts a {@link MailServer}. */
export async function startMailServer(options: SMTPServerOptions = {}): Promise<MailServer> {
  const server = new SMTPServer({
    logger: false,
    disableReverseLookup: true,
    authOptional: true,
    ...options,
    onAuth({ username, password }, _session, done) {
      const isRight = username === ACCOUNT.user && password === ACCOUNT.password
      if (isRight) done(null, { user: username })
      else done(new Error('wrong password'))
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const status = mail.refusals.shift()
        if (status !== undefined) return done(Object.assign(new Error('not now'), { responseCode: status }))
        const { mailFrom, rcptTo } = session.envelope
        mail.received.push({
          from: mailFrom ? mailFrom.address : '',
          to: rcptTo.map(({ address }) => address),
          isEncrypted: session.secure,
          user: typeof session.user === 'string' ? session.user : undefined,
          source: decoded(Buffer.concat(chunks).toString()),
        })
        done()
      })
    },
  })
  server.on('error', () => undefined) // a client that does not trust the certificate
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.server.address()
  const mail: MailServer = {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    received: [],
    refusals: [],
    until: async (count) => {
      await until(() => mail.received.length >= count, `${count} mails`)
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
  return mail
}

function decoded(source: string): string {
  const bytes = source
    .replaceAll('\r\n', '\n')
    .replaceAll('=\n', '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return bytes.replaceAll(/\n[ \t]+/g, ' ')
}
