import { describe, expect, it } from 'vitest'
import { ConfigError } from '../../src/config/config-error.ts'
import { parseConfig } from '../../src/config/config.ts'
import { caught } from '../support/caught.ts'

describe('the agent’s settings', () => {
  it('have defaults', () => {
    expect(parseConfig({}).agent).toMatchObject({
      allowedBases: [],
      dailyTokenBudget: 1_000_000,
      provider: undefined,
      model: undefined,
    })
    expect(Object.values(parseConfig({}).agent.keys).every((key) => key === undefined)).toBe(true)
  })

  it('come from the environment', () => {
    const config = parseConfig({
      OPENAI_API_KEY: 'sk-1',
      OLLAMA_BASE_URL: 'http://localhost:11434/v1',
      AGENT_ALLOWED_API_BASES: ' https://a.example/v1 , http://127.0.0.1:9000,',
      AGENT_DAILY_TOKENS: '0',
      AGENT_PROVIDER: 'builtin',
      AGENT_MODEL: 'org/model:7b',
    }).agent
    expect(config).toMatchObject({
      keys: { openai: 'sk-1', anthropic: undefined },
      bases: { ollama: 'http://localhost:11434/v1', openai: undefined },
      allowedBases: ['https://a.example/v1', 'http://127.0.0.1:9000'],
      dailyTokenBudget: 0,
      provider: 'builtin',
      model: 'org/model:7b',
    })
  })

  it.each([
    ['OPENAI_API_KEY', 'two words'],
    ['GROQ_API_KEY', 'line\nX-A: b'],
    ['MISTRAL_API_KEY', 'ключ'],
    ['OPENAI_BASE_URL', 'api.openai.com'],
    ['OPENAI_BASE_URL', 'ftp://api.openai.com'],
    ['VLLM_BASE_URL', 'http://user:password@gpu/v1'],
    ['AGENT_ALLOWED_API_BASES', 'https://a.example,nonsense'],
    ['AGENT_ALLOWED_API_BASES', 'https://a.example/v1?key=1'],
    ['AGENT_DAILY_TOKENS', 'many'],
    ['AGENT_DAILY_TOKENS', '-1'],
    ['AGENT_DAILY_TOKENS', '9999999999999'],
    ['AGENT_PROVIDER', 'constructor'],
    ['AGENT_MODEL', 'two words'],
  ])('stop the start with one line that names the invalid setting: %s', (name, value) => {
    const error = caught(() => parseConfig({ [name]: value }))
    expect(error).toBeInstanceOf(ConfigError)
    const { message } = error as ConfigError
    expect(message).toContain(name)
    expect(message).not.toContain('\n')
    if (name.endsWith('_KEY') || value.includes('password')) expect(message).not.toContain(value)
  })
})
