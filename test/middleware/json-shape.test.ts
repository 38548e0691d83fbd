import { expect, it } from 'vitest'
import { sleep } from '../support/waiting.ts'
import { checkJsonShape, checkLongJsonShape } from '../../src/middleware/json-shape.ts'

const SHAPE = { maxDepth: 3, maxValues: 8, maxValuesInOne: 5 }
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

it.each([
  ['[1,2,3,4,5]', undefined],
  ['[1,2,3,4,5,6]', 'has an object or array with more than 5 values'],
  ['{"a":[1,2,3],"b":[1,2,3]}', undefined],
  ['{"a":[1,2,3],"b":[1,2,3],"c":[1]}', 'has more than 8 values'],
  ['[[[1]]]', undefined],
  ['[[[[1]]]]', 'is nested deeper than 3 levels'],
  ['["[[[[,,,,,,,,,", "\\",,,,,,\\\\", "{{{{"]', undefined],
])('the values and levels of %j are counted outside its texts', async (text, problem) => {
  const check = () => checkJsonShape(bytes(text), SHAPE)
  if (problem === undefined) {
    expect(check).not.toThrow()
    await expect(checkLongJsonShape(bytes(text), SHAPE)).resolves.toBeUndefined()
  } else {
    expect(check).toThrow(problem)
    await expect(checkLongJsonShape(bytes(text), SHAPE)).rejects.toThrow(problem)
  }
})

it('a long document is counted in turns with other work, also across a text', async () => {
  let isOtherDone = false
  const other = sleep(1).then(() => (isOtherDone = true))
  await checkLongJsonShape(bytes(`["${'\\"'.repeat(2 ** 21)}",${'1,'.repeat(2 ** 21)}1]`), {
    maxDepth: 1,
    maxValues: 2 ** 22,
    maxValuesInOne: 2 ** 22,
  })
  expect(isOtherDone).toBe(true)
  await other
})
