import { describe, expect, it } from 'vitest'
import { withoutPaths } from '../../src/domain/without-paths.ts'

const METADATA = 'events/metadata/00001-a.metadata.json'

describe('a text for users', () => {
  it.each([
    [`demo.events is at file:///home/me/data/warehouse/demo/${METADATA}, which does not exist.`, METADATA],
    [`There is no file /srv/lake/demo/${METADATA}.`, METADATA],
    [`There is no file /home/me/my lake/of two words/demo/${METADATA}.`, METADATA],
    [`Could not read file:/srv/${METADATA}: permission denied`, METADATA],
    [`file://localhost/srv/${METADATA} is cut off`, METADATA],
    ['/srv/events/data/day=2026-01-02/f-0.parquet was not staged', 'events/data/day=2026-01-02/f-0.parquet'],
    ['/srv/events/data/0101/0011/1100/f-0.parquet was not staged', 'events/data/0101/0011/1100/f-0.parquet'],
    ['/srv/events/data/f-0.puffin is not a valid Puffin file', 'events/data/f-0.puffin'],
  ])('keeps of the file of a table what lies below the table: %s', (text, kept) => {
    const shown = withoutPaths(text)
    expect(shown).toContain(kept)
    expect(shown).not.toMatch(/home|srv|lake|file:|\/events/)
  })

  it.each([
    ['Could not read /home/me/data/checkpoints/o/offsets/3: it is a folder.', 'Could not read 3: it is a folder.'],
    ['There is no file /home/me/data/warehouse/t/f.parquet.', 'There is no file f.parquet.'],
    ['/home/me/data/catalog.db and /home/me/x or /y', 'catalog.db and x or y'],
    ['IO Error: Cannot open file "/tmp/scratch/a b/f.parquet": No', 'IO Error: Cannot open file "f.parquet": No'],
    ["ENOENT: no such file or directory, open '/root/a/b'", "ENOENT: no such file or directory, open 'b'"],
    ['sqlite:////home/me/catalog.db is locked (/home/me/catalog.db)', 'catalog.db is locked (catalog.db)'],
    ['the folder /home/me/lake/ is empty. See docs/guide.md', 'the folder lake is empty. See docs/guide.md'],
  ])('keeps of any other path the last name: %s', (text, shown) => expect(withoutPaths(text)).toBe(shown))

  it.each([
    's3://bucket/warehouse/demo/events/metadata/0.json does not exist',
    'https://example.org/a/b answered 500',
    'set one with PUT /api/config, or look at /notebook/me/lab and /mcp',
    'uri of a sql catalog must be sqlite:///path, four slashes for an absolute one, or postgresql://user@host/database',
    '"v1.json" is not a location on this machine: use an absolute path or a file: URI.',
    'checkpoints/orders/offsets/3 of the checkpoint is damaged',
    '12 rows/s, 1 / 2, and/or, ../dist, a:b',
    '',
  ])('leaves the rest as it is: %s', (text) => expect(withoutPaths(text)).toBe(text))

  it('handles long texts quickly', () => {
    const words = `/a ${'word '.repeat(20_000)}`
    expect(withoutPaths(words)).toBe(words.replace('/a', 'a'))
  })
})
