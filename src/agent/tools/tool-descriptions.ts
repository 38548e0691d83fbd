import { z } from 'zod'
import type { ToolDescription } from '../model/chat-model.ts'
import type { AgentTool } from './tool.ts'

const described = new WeakMap<AgentTool, ToolDescription>()

/** Tools as models see them. */
export function describeTools(tools: readonly AgentTool[]): readonly ToolDescription[] {
  return tools.map((tool) => {
    const known = described.get(tool)
    if (known !== undefined) return known
    const { name, description, input, examples, risk, minRole } = tool
    const made = { name, description, parameters: portableSchema(input), examples, isRead: risk === 'read', minRole }
    described.set(tool, made)
    return made
  })
}

/** JSON Schema keywords that every provider supports. Arguments are still checked with the full schema. */
const PORTABLE: ReadonlySet<string> = new Set([
  'type',
  'properties',
  'required',
  'enum',
  'items',
  'description',
  'anyOf',
  'const',
  'default',
  'minimum',
  'maximum',
])

type Definitions = Readonly<Record<string, object>>

/** The arguments of a tool as JSON Schema, without keywords that only some providers support, such as `pattern`. */
function portableSchema(input: z.ZodObject): Readonly<Record<string, unknown>> {
  const whole = z.toJSONSchema(input, { target: 'draft-7', io: 'input', unrepresentable: 'any' })
  // Named schemas appear as references, which not every provider resolves: they are inlined.
  const definitions: Definitions = Object(whole['definitions'])
  const schema = portable(whole, definitions)
  return { ...schema, properties: schema['properties'] ?? {} }
}

function portable(value: object, definitions: Definitions): Record<string, unknown> {
  const schema = '$ref' in value ? { ...definitions[String(value.$ref).split('/').at(-1) ?? ''], ...value } : value
  return Object.fromEntries(
    Object.entries(schema).flatMap(([name, member]) => {
      if (!PORTABLE.has(name)) return []
      if (name === 'properties') return [[name, mapValues(member, definitions)]]
      if (name === 'anyOf' && Array.isArray(member))
        return [[name, member.map((one) => portableValue(one, definitions))]]
      return [[name, name === 'items' ? portableValue(member, definitions) : member]]
    }),
  )
}

function mapValues(properties: unknown, definitions: Definitions): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(Object(properties)).map(([name, value]) => [name, portableValue(value, definitions)]),
  )
}

function portableValue(value: unknown, definitions: Definitions): unknown {
  return typeof value === 'object' && value !== null ? portable(value, definitions) : value
}
