import { describe, expect, it } from 'vitest'
import { parseConfig } from '../../src/config/config.ts'

const from = 'lockhouse@example.com'

describe('the mail server', () => {
  it.each([
    [{}, undefined],
    [
      { SMTP_URL: 'smtp://mail.example.com', SMTP_FROM: from },
      { host: 'mail.example.com', port: 587, tls: 'required', user: undefined, password: undefined, from },
    ],
    [
      { SMTP_URL: 'smtps://a%40b:p%2Fq@mail.example.com', SMTP_FROM: `Lock <${from}>` },
      { host: 'mail.example.com', port: 465, tls: 'implicit', user: 'a@b', password: 'p/q', from: `Lock <${from}>` },
    ],
    [
      { SMTP_URL: 'smtp://[::1]:25?tls=none', SMTP_FROM: from },
      { host: '::1', port: 25, tls: 'none', user: undefined, password: undefined, from },
    ],
  ])('of %j is %j', (env, mail) => {
    expect(parseConfig(env).mail).toEqual(mail)
  })

  it.each([
    [{ SMTP_URL: 'smtp://mail.example.com' }, 'SMTP_URL needs SMTP_FROM'],
    [{ SMTP_FROM: from }, 'SMTP_FROM needs SMTP_URL'],
    [{ SMTP_URL: 'https://mail.example.com', SMTP_FROM: from }, /^SMTP_URL must be smtp:/],
    [{ SMTP_URL: 'smtp://u:secret%zz@mail.example.com', SMTP_FROM: from }, /^SMTP_URL has a % that begins no escaped/],
    [{ SMTP_URL: 'smtp://mail.example.com?tls=maybe', SMTP_FROM: from }, /^SMTP_URL knows no other option/],
    [
      { SMTP_URL: 'smtp://u:secret@mail.example.com?tls=none', SMTP_FROM: from },
      /would send its password unencrypted$/,
    ],
    [{ SMTP_URL: 'smtp://mail.example.com', SMTP_FROM: 'a@b.c\r\nBcc: x@y.z' }, /^SMTP_FROM must be an address/],
  ])('of %j is refused', (env, message) => {
    expect(() => parseConfig(env)).toThrow(message)
    expect(() => parseConfig(env)).not.toThrow(/secret/)
  })
})
