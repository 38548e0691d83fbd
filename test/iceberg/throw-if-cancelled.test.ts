import { describe, expect, it } from 'vitest'
import { isIcebergError } from '../../src/iceberg/errors.ts'
import { throwIfCancelled } from '../../src/iceberg/throw-if-cancelled.ts'

describe('throwIfCancelled', () => {
  it('throws CANCELLED with the reason once the signal is aborted', () => {
    const stop = new AbortController()
    throwIfCancelled(stop.signal)
    throwIfCancelled(undefined)
    const reason = new Error('shutdown')
    stop.abort(reason)
    try {
      throwIfCancelled(stop.signal, 'the change')
      expect.unreachable()
    } catch (error) {
      expect(isIcebergError(error, 'CANCELLED')).toBe(true)
      expect(error).toMatchObject({ message: 'the change was cancelled', cause: reason })
    }
  })
})
