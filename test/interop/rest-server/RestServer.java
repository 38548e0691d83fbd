import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletRequestWrapper;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.jdbc.JdbcCatalog;
import org.apache.iceberg.rest.RESTCatalogAdapter;
import org.apache.iceberg.rest.RESTCatalogServlet;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.http.UriCompliance;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

/**
 * Apache Iceberg's REST catalog server on a free port of the loopback interface, which it prints. The first part of a
 * path is the folder of a warehouse, encoded twice: each has a JDBC catalog of its own. Ends when its input ends.
 */
public class RestServer {
  public static void main(String[] args) throws Exception {
    Server server = new Server();
    HttpConfiguration http = new HttpConfiguration();
    http.setUriCompliance(UriCompliance.UNSAFE); // names with percent signs
    ServerConnector connector = new ServerConnector(server, new HttpConnectionFactory(http));
    connector.setHost("127.0.0.1");
    server.addConnector(connector);
    ServletContextHandler context = new ServletContextHandler();
    context.addServlet(new ServletHolder(new Warehouses()), "/*");
    context.getServletHandler().setDecodeAmbiguousURIs(true);
    server.setHandler(context);
    server.start();
    System.out.println("listening on " + connector.getLocalPort());
    while (System.in.read() >= 0) {}
    System.exit(0);
  }

  private static class Warehouses extends HttpServlet {
    private final Map<String, RESTCatalogServlet> servlets = new ConcurrentHashMap<>();

    @Override
    protected void service(HttpServletRequest request, HttpServletResponse response)
        throws ServletException, IOException {
      String uri = request.getRequestURI();
      int end = uri.indexOf('/', 1);
      String folder = decode(decode(uri.substring(1, end)));
      HttpServletRequest inner =
          new HttpServletRequestWrapper(request) {
            @Override
            public String getRequestURI() {
              return uri.substring(end);
            }
          };
      servlets.computeIfAbsent(folder, Warehouses::open).service(inner, response);
    }

    private static RESTCatalogServlet open(String folder) {
      try {
        Files.createDirectories(Path.of(folder));
      } catch (IOException e) {
        throw new IllegalStateException(e);
      }
      JdbcCatalog catalog = new JdbcCatalog();
      catalog.setConf(new Configuration());
      Map<String, String> properties =
          Map.of(
              "uri", "jdbc:sqlite:" + folder + "/catalog.db",
              "warehouse", folder + "/warehouse",
              "jdbc.schema-version", "V1",
              "clients", "1");
      catalog.initialize("rest", properties);
      return new RESTCatalogServlet(new RESTCatalogAdapter(catalog));
    }

    private static String decode(String text) {
      return URLDecoder.decode(text, StandardCharsets.UTF_8);
    }
  }
}
