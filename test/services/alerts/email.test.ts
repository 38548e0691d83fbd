import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ACCOUNT, type MailServer, startMailServer } from '../../support/network/mail-server.ts'
import { type AlertLab, openAlertLab } from './alert-lab.ts'

describe('alerts by mail', () => {
  let lab: AlertLab
  let mail: MailServer
  beforeAll(async () => {
    mail = await startMailServer({ disabledCommands: ['STARTTLS'], allowInsecureAuth: true })
    const password = encodeURIComponent(ACCOUNT.password)
    lab = await openAlertLab({
      SMTP_URL: `smtp://${ACCOUNT.user}:${password}@127.0.0.1:${mail.port}?tls=none`,
      SMTP_FROM: 'Lockhouse <lockhouse@example.com>',
    })
  })
  afterAll(async () => {
    await lab.close()
    await mail.close()
  })

  it('reach all recipients once, in plain words, also when the server refuses at first', async () => {
    mail.refusals = [451]
    const channel = { type: 'email', to: ['ops@example.com', 'lead@example.com'] }
    const id = await lab.create({ name: 'mails', events: ['pipeline.failed'], channel })
    await lab.happen({
      type: 'pipeline.failed',
      objectType: 'pipeline',
      objectId: 'pipe-1',
      data: { definition: 'to gold\r\nBcc: victim@example.com', sink_table: 's.gold', environment: 'production' },
    })
    const [delivery] = await lab.settled(id, 1)
    expect(delivery).toMatchObject({ state: 'delivered', attempts: 2, last_status: 250 })
    expect(mail.received).toHaveLength(1)
    const [{ to, user, source }] = mail.received as [(typeof mail.received)[number]]
    expect([to, user]).toEqual([['ops@example.com', 'lead@example.com'], ACCOUNT.user])
    expect(source).toContain(`Message-ID: <${delivery.id}@example.com>`)
    expect(source).toMatch(/^Subject: \[critical\] Pipeline failed: to gold Bcc: victim@example\.com \(production\)$/m)
    expect(source.slice(0, source.indexOf('\n\n'))).not.toMatch(/^Bcc:/m)
    expect(source).toContain('Sink: s.gold')
    const { body } = await lab.service.get(`/api/alerts/${id}`)
    expect(body).toMatchObject({ channel, destination: 'ops@example.com, lead@example.com' })
  })

  it('are refused while the service has no mail server', async () => {
    const other = await openAlertLab()
    const request = { name: 'mails', events: ['*'], channel: { type: 'email', to: ['ops@example.com'] } }
    const { status, body } = await other.service.post('/api/alerts', request)
    expect([status, body.errors[0].path]).toEqual([422, 'channel.type'])
    await other.close()
  })

  it('are refused with addresses that are none', async () => {
    for (const to of [[], ['nobody'], ['a@b.example, c@d.example'], ['a@b.example\r\nBcc: c@d.example']]) {
      const request = { name: 'mails 2', events: ['*'], channel: { type: 'email', to } }
      expect((await lab.service.post('/api/alerts', request)).status, String(to)).toBe(400)
    }
  })
})
