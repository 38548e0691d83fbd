/**
 * The environment of a process of the service in which nothing is set: where programs are, and where Node keeps compiled modules,
 * without which each process compiles the sources again.
 */
export const cleanEnvironment: Readonly<Record<string, string>> = Object.fromEntries(
  ['PATH', 'NODE_COMPILE_CACHE'].flatMap((name) => {
    const value = process.env[name]
    return value === undefined ? [] : [[name, value]]
  }),
)
