import { describe, expect, it } from 'vitest'
import { MAX_OBJECTS, readWanted } from '../../src/cli/files/wanted.ts'

const problemsOf = (text: string, name = 'a.yaml'): readonly string[] =>
  readWanted([{ name, text }]).problems.map(({ file, line, message }) => `${file}:${line}: ${message}`)

const POLICY = `kind: Policy
name: nightly
tables: ["sales.*"]
operations:
  - operation: compact
when: { health_below: 80 }
`
const alert = (channel: string): string => `kind: Alert\nname: a\nevents: ["*"]\nchannel: ${channel}\n`

describe('a file', () => {
  it.each([
    ['name: x', ['a.yaml:1: kind is required: write Environment, Policy, PipelineDefinition or Alert']],
    ['\nkind: Table', ['a.yaml:2: kind is not known: write Environment, Policy, PipelineDefinition or Alert']],
    [`# a\n---\n${POLICY}retain: 5\n`, ['a.yaml:9: Policy: retain is not a known field']],
    [
      POLICY.replace('compact', 'shrink'),
      [expect.stringMatching(/^a.yaml:5: Policy: operations.0.operation must be one of/)],
    ],
    [POLICY.replace('name: nightly\n', ''), ['a.yaml:1: Policy: name is required']],
    [`${POLICY}---\n${POLICY}`, ['a.yaml:9: Policy nightly stands also in a.yaml:1']],
    [`${POLICY}name: again\n`, ['a.yaml:7: is not valid YAML: Map keys must be unique']],
    ['kind: [Policy', [expect.stringMatching(/^a.yaml:1: is not valid YAML: /)]],
    ['kind: !secret Policy', ['a.yaml:1: is not valid YAML: Unresolved tag: !secret']],
    ['- kind: Policy', ['a.yaml:1: the document must be a map of fields']],
    ['text', ['a.yaml:1: the document must be a map of fields']],
    ['kind: &all [*all]', [expect.stringMatching(/^a.yaml:1: /)]],
    [
      'kind: Environment\nname: qa\nparameters:\n  id: 9007199254740993\n',
      ['a.yaml:4: the number 9007199254740993 is not exact: write it in quotes'],
    ],
    ['kind: Environment\nname: qa\nparameters: { a: .inf }\n', [expect.stringContaining('.inf is not exact')]],
    [
      'kind: Environment\nname: staging\nwrites: []\n',
      [expect.stringMatching(/^a.yaml:2: Environment: name must be one of/)],
    ],
    ['kind: Environment\nname: qa\n', ['a.yaml:1: Environment: the document must have at least one member']],
    [
      'kind: PipelineDefinition\nname: x\nformat_version: 2\n',
      [expect.stringMatching(/^a.yaml:3: .*format versions up to 1/)],
    ],
    [
      'kind: PipelineDefinition\nname: x\nnodes:\n - { id: a, type: b }\n - { id: a, type: b }\n',
      ['a.yaml:5: PipelineDefinition: nodes.1.id must be unique, and "a" is used twice'],
    ],
    [
      alert('{ type: slack, url: "https://hooks.example.com/x" }'),
      [expect.stringContaining('a.yaml:4: Alert: channel.url must be env:NAME')],
    ],
    [alert('{ type: slack, url: "***" }'), [expect.stringContaining('channel.url must be env:NAME')]],
    [
      alert('{ type: webhook, url: "env:LAKE_A", secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw }'),
      [expect.stringContaining('channel.secret must be env:NAME')],
    ],
    [alert('{ type: email, to: [a@example.com] }'), []],
    ['', []],
    ['# only a comment\n---\n', []],
    [`\uFEFF${POLICY}`, []],
  ])('%j has the problems %j', (text, problems) => {
    expect(problemsOf(text)).toEqual(problems)
  })

  it('with more objects than are permitted is a problem', () => {
    const definitions = Array.from({ length: MAX_OBJECTS + 1 }, (_, at) => `kind: PipelineDefinition\nname: d${at}\n`)
    expect(problemsOf(definitions.join('---\n'))).toEqual([
      `a.yaml:${3 * MAX_OBJECTS + 1}: files describe at most ${MAX_OBJECTS} objects`,
    ])
  })

  it('that repeats an alias too often is a problem', () => {
    const levels = Array.from(
      { length: 9 },
      (_, at) => `a${at + 1}: &a${at + 1} [${Array(9).fill(`*a${at}`).join(', ')}]`,
    )
    expect(problemsOf(['a0: &a0 x', ...levels].join('\n'))).toEqual([expect.stringMatching(/^a.yaml:1: /)])
  })
})
