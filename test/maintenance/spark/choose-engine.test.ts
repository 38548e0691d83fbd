import { describe, expect, it } from 'vitest'
import { chooseEngine, type EngineQuestion } from '../../../src/maintenance/spark/choose-engine.ts'

const QUESTION: EngineQuestion = {
  requested: 'auto',
  hasSpark: true,
  what: 'the plan rewrites',
  bytes: 2 ** 30,
  maxBytes: 2 ** 30,
}

describe('choosing an engine', () => {
  const choose = (changes: Partial<EngineQuestion>) => chooseEngine({ ...QUESTION, ...changes })

  it('takes Spark only for more bytes than the limit, and says both sizes', () => {
    expect(choose({})).toEqual({
      engine: 'embedded',
      reason: 'the plan rewrites 1 GiB, at most ENGINE_EMBEDDED_MAX_BYTES (1 GiB)',
    })
    expect(choose({ bytes: 2 ** 30 + 1 }).engine).toBe('spark')
    expect(choose({ bytes: 2 ** 31 }).reason).toBe(
      'the plan rewrites 2 GiB, more than ENGINE_EMBEDDED_MAX_BYTES (1 GiB)',
    )
  })

  it('takes Spark for what the embedded engine refuses', () => {
    expect(choose({ bytes: 0, refusal: 'the type is unknown' })).toEqual({
      engine: 'spark',
      reason: 'the embedded engine refuses: the type is unknown',
    })
  })

  it('stays embedded where only the embedded engine can do it, and where there is no Spark', () => {
    expect(choose({ bytes: 2 ** 40, sparkRefusal: 'verify' })).toEqual({ engine: 'embedded', reason: 'verify' })
    expect(choose({ bytes: 2 ** 40, hasSpark: false })).toEqual({
      engine: 'embedded',
      reason: 'no Spark server is configured (SPARK_REMOTE)',
    })
  })

  it('does what the request asks for, or refuses it', () => {
    expect(choose({ requested: 'embedded', bytes: 2 ** 40 }).engine).toBe('embedded')
    expect(choose({ requested: 'spark', bytes: 0 }).engine).toBe('spark')
    expect(() => choose({ requested: 'spark', hasSpark: false })).toThrow(/set SPARK_REMOTE/)
    expect(() => choose({ requested: 'spark', sparkRefusal: 'only the embedded engine' })).toThrow(/only the embedded/)
  })
})
