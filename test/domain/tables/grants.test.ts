import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createGlobIndex } from '../../../src/domain/tables/glob-index.ts'
import { compileGrants, type Grant } from '../../../src/domain/tables/grants.ts'
import { matchesGlob } from '../../../src/domain/tables/table-globs.ts'

const ada = { user: 'ada', role: 'DataEngineer', groups: ['analysts'] } as const

function roleOn(grants: readonly Grant[], table: string, environment?: string) {
  return compileGrants(grants).roleOn(ada, table, environment)
}

describe('the role on a table', () => {
  it('is the own role while there are no grants', () => {
    expect(roleOn([], 'sales.orders')).toBe('DataEngineer')
  })

  it('is undefined when no grant matches', () => {
    expect(roleOn([{ principal: 'user:eva', role: 'Auditor', tables: ['*'] }], 'sales.orders')).toBeUndefined()
    expect(roleOn([{ principal: 'user:ada', role: 'Auditor', tables: ['sales.*'] }], 'hr.pay')).toBeUndefined()
  })

  it('is the highest of the matching grants, at most the own role', () => {
    const grants: Grant[] = [
      { principal: 'user:ada', role: 'Auditor', tables: ['*'] },
      { principal: 'group:analysts', role: 'DataEngineer', tables: ['sales.*'] },
      { principal: 'user:ada', role: 'LeadDataEngineer', tables: ['ops.*'] },
    ]
    expect(roleOn(grants, 'hr.pay')).toBe('Auditor')
    expect(roleOn(grants, 'sales.orders')).toBe('DataEngineer')
    expect(roleOn(grants, 'ops.log')).toBe('DataEngineer')
  })

  it('leaves out exceptions in any case', () => {
    const grants: Grant[] = [{ principal: 'user:ada', role: 'Auditor', tables: ['*'], except: ['hr.*'] }]
    expect(roleOn(grants, 'hr.pay')).toBeUndefined()
    expect(roleOn(grants, 'HR.Pay')).toBeUndefined()
    expect(roleOn(grants, 'sales.orders')).toBe('Auditor')
  })

  it('counts a grant with environments only for moves and deployments there', () => {
    const grants: Grant[] = [
      { principal: 'user:ada', role: 'Auditor', tables: ['*'] },
      { principal: 'user:ada', role: 'DataEngineer', tables: ['*'], environments: ['qa'] },
    ]
    expect(roleOn(grants, 'sales.orders', 'qa')).toBe('DataEngineer')
    expect(roleOn(grants, 'sales.orders', 'uat')).toBe('Auditor')
    expect(roleOn(grants, 'sales.orders')).toBe('DataEngineer')
  })

  it('is the own role of a lead', () => {
    const lead = { user: 'lea', role: 'LeadDataEngineer' } as const
    expect(compileGrants([{ principal: 'user:ada', role: 'Auditor', tables: ['*'] }]).roleOn(lead, 'hr.pay')).toBe(
      'LeadDataEngineer',
    )
  })
})

it('the index of globs finds what a comparison with every glob finds', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*'), maxLength: 8 })
  fc.assert(
    fc.property(fc.array(text, { maxLength: 12 }), text, (globs, name) => {
      const index = createGlobIndex<string>()
      for (const glob of new Set(globs)) index.add(glob, glob)
      const found = [...index.matching(name)].toSorted()
      expect(found).toEqual([...new Set(globs)].filter((glob) => matchesGlob(glob, name)).toSorted())
    }),
    { numRuns: 500 },
  )
})

it('10,000 grants of one user match 10,000 tables by their names and namespaces', () => {
  const shapes = [(n: number) => `ns${n}.table`, (n: number) => `ns${n}.*`, (n: number) => `*.table${n}`]
  const grants = Array.from({ length: 10_000 }, (_, n): Grant => {
    const glob = shapes[n % 3]?.(n) ?? ''
    return { principal: 'user:ada', role: 'Auditor', tables: [glob], except: [`ns${n}.x*`] }
  })
  const compiled = compileGrants(grants)
  let visible = 0
  for (let n = 0; n < 10_000; n++) if (compiled.roleOn(ada, `ns${n}.table`) !== undefined) visible += 1
  expect(visible).toBe(6667) // every exact name and every namespace
})
