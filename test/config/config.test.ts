import { describe, expect, it } from 'vitest'
import { ConfigError } from '../../src/config/config-error.ts'
import { parseConfig } from '../../src/config/config.ts'
import { caught } from '../support/caught.ts'

describe('the service’s settings', () => {
  it('have defaults', () => {
    expect(parseConfig({})).toMatchObject({
      port: 3000,
      host: '127.0.0.1',
      home: './data',
      adminToken: undefined,
      authMode: 'token',
      jwt: undefined,
      allowedOrigins: ['http://localhost:5173'],
      configEnvAllow: [],
      trustedProxies: [],
      logLevel: 'info',
      engine: { memoryLimitBytes: 1e9, threads: undefined },
      demo: false,
      approvalsForbidSelf: false,
      oidc: undefined,
      prices: { currency: 'USD', perGbMonth: undefined, perThousandRequests: undefined },
      openLineage: undefined,
    })
  })

  it('come from the environment', () => {
    const config = parseConfig({
      PORT: '0',
      AUTH_JWT_ISSUER: 'https://issuer.example',
      AUTH_JWT_AUDIENCE: 'lockhouse',
      AUTH_ROLE_CLAIM: 'groups',
      ALLOWED_ORIGINS: 'https://a.example, http://b.example:8080',
      CONFIG_ENV_ALLOW: 'S3_KEY,, S3_SECRET',
      ENGINE_MEMORY_LIMIT: '1.5 GiB',
      ENGINE_THREADS: '4',
      LOCKHOUSE_DEMO: '1',
      APPROVALS_FORBID_SELF: 'true',
      COST_PER_GB_MONTH: '0.023',
      COST_PER_1000_REQUESTS: '0',
      COST_CURRENCY: 'EUR',
      OPENLINEAGE_URL: 'http://localhost:5000/base',
      UNKNOWN_TO_US: 'x',
    })
    expect(config).toMatchObject({
      port: 0,
      jwt: { issuer: 'https://issuer.example', audience: 'lockhouse', roleClaim: 'groups' },
      claims: { userClaim: 'sub', groupsClaim: 'groups', defaultRole: undefined },
      oidc: undefined,
      allowedOrigins: ['https://a.example', 'http://b.example:8080'],
      configEnvAllow: ['S3_KEY', 'S3_SECRET'],
      engine: { memoryLimitBytes: 1.5 * 2 ** 30, threads: 4 },
      demo: true,
      approvalsForbidSelf: true,
      prices: { currency: 'EUR', perGbMonth: 0.023, perThousandRequests: 0 },
      openLineage: { url: 'http://localhost:5000/base', apiKey: undefined, namespace: 'lockhouse' },
    })
    expect(config).not.toHaveProperty('UNKNOWN_TO_US')
  })

  it.each([
    [{ PORT: '65536' }, 'PORT must be a whole number from 0 to 65535, not "65536"'],
    [{ PORT: '3000.5' }, 'PORT must be a whole number from 0 to 65535, not "3000.5"'],
    [
      { OPENLINEAGE_URL: 'http://user:secret@lineage.example' },
      'OPENLINEAGE_URL must be an http or https address without credentials and query',
    ],
    [{ OPENLINEAGE_API_KEY: 'a b' }, 'OPENLINEAGE_API_KEY must be printable characters without spaces'],
    [{ AUTH_MODE: 'none' }, 'AUTH_MODE must be one of token, off, not "none"'],
    [{ AUTH_MODE: 'off', HOST: '0.0.0.0' }, 'AUTH_MODE=off is allowed on loopback only, but HOST is 0.0.0.0'],
    [
      { AUTH_MODE: 'off', NOTEBOOK_HOST_TEMPLATE: 'https://{slug}.nb.example' },
      'NOTEBOOK_HOST_TEMPLATE isolates users from each other, but AUTH_MODE=off has no users',
    ],
    [{ COST_PER_GB_MONTH: '-1' }, 'COST_PER_GB_MONTH must be a price such as 0.023, not "-1"'],
    [{ COST_CURRENCY: 'euro' }, 'COST_CURRENCY must be a currency code such as EUR, not "euro"'],
    [{ AUTH_JWT_AUDIENCE: 'x' }, 'AUTH_JWT_AUDIENCE needs AUTH_JWT_ISSUER'],
    [
      { AUTH_JWT_ISSUER: 'https://issuer.example' },
      'AUTH_JWT_ISSUER needs AUTH_JWT_AUDIENCE: tokens for other services must not be accepted',
    ],
    [
      { AUTH_JWT_ISSUER: 'http://issuer.example', AUTH_JWT_AUDIENCE: 'x' },
      'AUTH_JWT_ISSUER must be an https address, or http on loopback',
    ],
    [
      { ALLOWED_ORIGINS: 'https://a.example,https://b.example/path' },
      'ALLOWED_ORIGINS must be comma-separated origins without a path, such as https://app.example.com, ' +
        'not "https://b.example/path"',
    ],
    [
      { TRUSTED_PROXIES: '10.0.0.0/33' },
      'TRUSTED_PROXIES must be comma-separated addresses or networks, such as 10.0.0.0/8, not "10.0.0.0/33"',
    ],
    [
      { ENGINE_MEMORY_LIMIT: '1MB' },
      'ENGINE_MEMORY_LIMIT must be a size of at least 64MiB such as 512MB or 2GiB, not "1MB"',
    ],
    [{ LOCKHOUSE_DEMO: 'yes' }, 'LOCKHOUSE_DEMO must be one of 0, 1, not "yes"'],
    [{ APPROVALS_FORBID_SELF: '1' }, 'APPROVALS_FORBID_SELF must be one of true, false, not "1"'],
    // secrets are not shown
    [{ LOCKHOUSE_ADMIN_TOKEN: 'short' }, 'LOCKHOUSE_ADMIN_TOKEN must be 16 to 512 printable characters without spaces'],
    [{ AUDIT_KEY: 'short' }, 'AUDIT_KEY must have at least 32 characters'],
    [
      { AUTH_GROUP_ROLES: 'lake-admins' },
      'AUTH_GROUP_ROLES must be group:role entries with roles of Auditor, DataEngineer, LeadDataEngineer, not "lake-admins"',
    ],
    [
      { AUTH_DEFAULT_ROLE: 'Admin' },
      'AUTH_DEFAULT_ROLE must be one of Auditor, DataEngineer, LeadDataEngineer, not "Admin"',
    ],
    [{ AUTH_OIDC_CLIENT_ID: 'x' }, 'AUTH_OIDC_CLIENT_ID needs AUTH_OIDC_ISSUER'],
    [
      { AUTH_OIDC_ISSUER: 'https://sso.example', AUTH_OIDC_CLIENT_ID: 'x' },
      'AUTH_OIDC_ISSUER needs AUTH_OIDC_CLIENT_SECRET: register the service as a confidential client of the provider',
    ],
    [{ DATABASE_URL: 'mysql://u:p@h/d' }, 'DATABASE_URL must be postgres://user:password@host:port/database'],
  ])('stop the start with one line: %j', (env, message) => {
    const error = caught(() => parseConfig(env))
    expect(error).toBeInstanceOf(ConfigError)
    expect((error as Error).message).toBe(message)
  })
})
