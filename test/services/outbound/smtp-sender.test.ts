import { createServer } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { createSmtpSender, type MailServer as MailSettings } from '../../../src/services/outbound/smtp-sender.ts'
import { createAuthority } from '../../support/kubernetes-api/certificates.ts'
import { ACCOUNT, type MailServer, startMailServer } from '../../support/network/mail-server.ts'

const authority = createAuthority()
const { key, certificate: cert } = authority.issueServer()
const MAIL = {
  to: ['ops@example.com', 'lead@example.com'],
  subject: 'Größe',
  text: 'one\ntwo',
  id: 'dlv-1',
  thread: 't1',
}

describe('sending mail', () => {
  let server: MailServer | undefined
  afterEach(async () => {
    await server?.close()
    server = undefined
  })

  const settings = (change: Partial<MailSettings>): MailSettings => ({
    host: 'localhost',
    port: server?.port ?? 0,
    tls: 'none',
    user: undefined,
    password: undefined,
    from: 'Lockhouse <lockhouse@example.com>',
    ca: authority.certificate,
    ...change,
  })
  const send = (change: Partial<MailSettings>, signal = AbortSignal.timeout(8000)) =>
    createSmtpSender(settings(change))(MAIL, signal)

  it('delivers to all recipients, with an id that stays the same', async () => {
    server = await startMailServer()
    expect(await send({})).toEqual({ status: 250 })
    expect(await send({})).toEqual({ status: 250 })
    for (const { from, to, source } of server.received) {
      expect([from, to]).toEqual(['lockhouse@example.com', MAIL.to])
      expect(source).toContain('Message-ID: <dlv-1@example.com>')
      expect(source).toContain('References: <t1@example.com>')
      expect(source).toContain('Auto-Submitted: auto-generated')
      expect(source).toContain('one\ntwo')
    }
  })

  it.each(['required', 'implicit'] as const)('logs in after TLS (%s)', async (tls) => {
    server = await startMailServer({ key, cert, secure: tls === 'implicit', authOptional: false })
    expect(await send({ tls, ...ACCOUNT })).toEqual({ status: 250 })
    expect(server.received).toMatchObject([{ isEncrypted: true, user: ACCOUNT.user }])
  })

  it('sends nothing when the server offers no STARTTLS', async () => {
    server = await startMailServer({ disabledCommands: ['STARTTLS'] })
    const refused = send({ tls: 'required', ...ACCOUNT })
    await expect(refused).rejects.toThrow(/^the connection to the mail server could not be encrypted$/)
    expect(server.received).toEqual([])
  })

  it('sends nothing to a server whose certificate it does not trust', async () => {
    server = await startMailServer({ key, cert })
    const other = createAuthority('other').certificate
    await expect(send({ tls: 'required', ca: other, ...ACCOUNT })).rejects.toThrow()
    expect(server.received).toEqual([])
  })

  it('says when the password is refused', async () => {
    server = await startMailServer({ key, cert, authOptional: false })
    const refused = send({ tls: 'required', user: ACCOUNT.user, password: 'wrong' })
    await expect(refused).rejects.toThrow(/^the mail server refused the user or the password \(535\)$/)
    expect(server.received).toEqual([])
  })

  it('passes on the status of a server that does not take the mail', async () => {
    server = await startMailServer()
    server.refusals = [451, 552]
    expect(await send({})).toEqual({ status: 451 })
    expect(await send({})).toEqual({ status: 552 })
  })

  it('ends at its limit when the server says nothing, and when it cuts the line', async () => {
    const silent = createServer(() => undefined)
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    const at = silent.address()
    const port = typeof at === 'object' && at !== null ? at.port : 0
    await expect(send({ port }, AbortSignal.timeout(200))).rejects.toMatchObject({ name: 'TimeoutError' })
    const cutting = createServer((socket) => socket.destroy())
    await new Promise<void>((resolve) => cutting.listen(0, '127.0.0.1', resolve))
    const cut = cutting.address()
    await expect(send({ port: typeof cut === 'object' && cut !== null ? cut.port : 0 })).rejects.toThrow()
    silent.close()
    cutting.close()
  })
})
