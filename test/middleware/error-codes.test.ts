import { describe, expect, it } from 'vitest'
import { type DomainErrorCode, ERROR_CODES } from '../../src/domain/error-codes.ts'
import { DomainError } from '../../src/domain/errors.ts'
import { ICEBERG_ERROR_CODES } from '../../src/iceberg/errors.ts'
import { STATUS } from '../../src/middleware/error-handler.ts'
import { problem } from '../../src/schemas/common.ts'

describe('error codes', () => {
  it('are one list without duplicates that includes the codes of the table format', () => {
    expect(new Set(ERROR_CODES).size).toBe(ERROR_CODES.length)
    expect(ERROR_CODES).toEqual(expect.arrayContaining([...ICEBERG_ERROR_CODES]))
    expect(problem.shape.code.options).toEqual([...ERROR_CODES])
  })

  it('each have a status, and there is no other status entry', () => {
    expect(Object.keys(STATUS).toSorted()).toEqual([...ERROR_CODES].toSorted())
    const { CONFLICT, ...incomplete } = STATUS
    // @ts-expect-error -- a table without a code does not compile
    const missing: typeof STATUS = incomplete
    // @ts-expect-error -- a code that is not in the list does not compile
    const unknown: typeof STATUS = { ...incomplete, CONFLICT, NO_SUCH_CODE: 409 }
    // @ts-expect-error -- a status that no error is answered with does not compile
    const wrong: typeof STATUS = { ...incomplete, CONFLICT: 200 }
    expect([missing, unknown, wrong]).toHaveLength(3)
  })

  it('of the HTTP layer are not available to services', () => {
    // @ts-expect-error -- services have no HTTP methods
    const code: DomainErrorCode = 'METHOD_NOT_ALLOWED'
    // @ts-expect-error -- errors of the table format are IcebergErrors
    const error = new DomainError('NO_SUCH_TABLE', 'table sales.orders does not exist')
    expect(error.code).not.toBe(code)
  })
})
