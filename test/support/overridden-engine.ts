import type { Engine } from '../../src/engines/engine.ts'

/** An engine with some of its members replaced; all others are those of `engine`, called on it. */
export function overriddenEngine(engine: Engine, overrides: Partial<Engine>): Engine {
  return new Proxy(engine, {
    get(target, name) {
      if (Object.hasOwn(overrides, name)) return Reflect.get(overrides, name)
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
