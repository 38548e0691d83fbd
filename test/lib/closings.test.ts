import { describe, expect, it } from 'vitest'
import { createClosings } from '../../src/lib/closings.ts'
import { sleep } from '../support/waiting.ts'

/** A closing that records when it begins and ends. */
function recorded(log: string[], name: string, fail = false): () => Promise<void> {
  return async () => {
    log.push(`${name} begins`)
    await sleep(2)
    log.push(`${name} ends`)
    if (fail) throw new Error(`${name} fails`)
  }
}

describe('createClosings', () => {
  it('closes the last opened first, one after the other', async () => {
    const log: string[] = []
    const closings = createClosings()
    closings.add(recorded(log, 'state'))
    closings.add(recorded(log, 'engine'))
    await closings.close()
    expect(log).toEqual(['engine begins', 'engine ends', 'state begins', 'state ends'])
  })

  it('closes what was added together at the same time, before what was opened earlier', async () => {
    const log: string[] = []
    const closings = createClosings()
    closings.add(recorded(log, 'state'))
    closings.add(recorded(log, 'engine'), recorded(log, 'catalog'))
    await closings.close()
    expect(log.slice(0, 2)).toEqual(['engine begins', 'catalog begins'])
    expect(log.slice(4)).toEqual(['state begins', 'state ends'])
  })

  it('closes all others when one fails, and throws the first error', async () => {
    const log: string[] = []
    const closings = createClosings()
    closings.add(recorded(log, 'home'))
    closings.add(recorded(log, 'state', true))
    closings.add(
      () => {
        throw new Error('engine fails')
      },
      recorded(log, 'catalog'),
    )
    await expect(closings.close()).rejects.toThrow('engine fails')
    expect(log).toEqual(['catalog begins', 'catalog ends', 'state begins', 'state ends', 'home begins', 'home ends'])
  })

  it('closes once when it is called again, also while it closes', async () => {
    const log: string[] = []
    const closings = createClosings()
    closings.add(recorded(log, 'state'))
    await Promise.all([closings.close(), closings.close()])
    await closings.close()
    expect(log).toEqual(['state begins', 'state ends'])
  })

  it('closes what was added while it closes', async () => {
    const log: string[] = []
    const closings = createClosings()
    closings.add(recorded(log, 'state'))
    closings.add(() => closings.add(recorded(log, 'engine')))
    await closings.close()
    expect(log).toEqual(['engine begins', 'engine ends', 'state begins', 'state ends'])
  })
})
