import { expect, it } from 'vitest'

import { parseTypeText } from '../../../src/iceberg/schema/type-text.ts'
import { growthOf, LINEAR } from '../../support/growth.ts'

it('the time to read the text of a type grows with the number of its fields', async () => {
  expect(() => parseTypeText('struct<a: int, A: int>')).toThrow('two fields named "A"')
  const growth = await growthOf(300, (size) => {
    const text = `struct<${Array.from({ length: size }, (_, at) => at)
      .map((at) => `column_${at}: int`)
      .join(', ')}>`
    return () => parseTypeText(text)
  })
  expect(growth).toBeLessThan(LINEAR)
})
