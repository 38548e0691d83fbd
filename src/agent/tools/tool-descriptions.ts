import { z } from 'zod'
import type { ToolDescription } from '../chat-model.ts'
import type { AgentTool } from './tool.ts'

const described = new WeakMap<AgentTool, ToolDescription>()

/** Tools as models see them. */
export function describeTools(tools: readonly AgentTool[]): readonly ToolDescription[] {
  return tools.map((tool) => {
    const known = described.get(tool)
    if (known !== undefined) return known
    const { name, description, input } = tool
    const made = { name, description, parameters: portableSchema(input) }
    described.set(tool, made)
    return made
  })
}

/** Members of JSON Schema that every provider understands; arguments are checked by the whole schema anyway. */
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

/** The arguments of a tool as JSON Schema, without what only some providers know, such as patterns and formats. */
function portableSchema(input: z.ZodObject): Readonly<Record<string, unknown>> {
  const schema = portable(z.toJSONSchema(input, { target: 'draft-7', io: 'input', unrepresentable: 'any' }))
  return { ...schema, properties: schema['properties'] ?? {} }
}

function portable(schema: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(schema).flatMap(([name, value]) => {
      if (!PORTABLE.has(name)) return []
      if (name === 'properties') return [[name, mapValues(value)]]
      if (name === 'anyOf' && Array.isArray(value)) return [[name, value.map(portableValue)]]
      return [[name, name === 'items' ? portableValue(value) : value]]
    }),
  )
}

function mapValues(properties: unknown): Record<string, unknown> {
  return Object.fromEntries(Object.entries(Object(properties)).map(([name, value]) => [name, portableValue(value)]))
}

function portableValue(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? portable(value) : value
}
