// The short page that stands in until a frontend is built: it signs in with the token of the first-start link and lists health.
const base = new URL('.', import.meta.url).pathname
const status = document.querySelector('#status')
const table = document.querySelector('#tables')
const token = new URLSearchParams(location.hash.slice(1)).get('token') ?? sessionStorage.getItem('token')
if (token) sessionStorage.setItem('token', token)
if (location.hash) history.replaceState(null, '', location.pathname)

async function get(path) {
  const response = await fetch(base + path, { headers: token ? { Authorization: `Bearer ${token}` } : {} })
  const body = await response.json()
  if (!response.ok) throw new Error(body.detail)
  return body
}

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB']

function size(bytes) {
  const power = bytes < 1 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), UNITS.length - 1)
  return `${(bytes / 1000 ** power).toFixed(power ? 1 : 0)} ${UNITS[power]}`
}

function addRow(cells) {
  const row = table.tBodies[0].insertRow()
  for (const text of cells) row.insertCell().textContent = text
}

try {
  const { tables } = await get('api/tables?page_size=50')
  for (const { table: name } of tables) {
    const health = await get(`api/table/${encodeURIComponent(name)}/health`).catch((error) => error)
    if (health instanceof Error) addRow([name, '–', '–', '–', health.message])
    else addRow([name, health.score, health.data_file_count, size(health.total_size_bytes), health.recommendation])
  }
  table.hidden = tables.length === 0
  status.textContent = tables.length === 0 ? 'No tables yet.' : `${tables.length} tables`
} catch (error) {
  status.textContent = `${error.message}. Open the link that the first start printed, or add #token=… to this address.`
}
