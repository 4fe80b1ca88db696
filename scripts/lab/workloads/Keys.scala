package org.apache.spark.sql.execution.streaming.state

import java.time.{Instant, LocalDate}

import org.apache.spark.sql.{Encoder, Encoders}
//#if >=3.5
import org.apache.spark.sql.catalyst.encoders.AgnosticEncoders
//#end
import org.apache.spark.sql.catalyst.encoders.encoderFor
import org.apache.spark.sql.types.DecimalType

/** One event of a random workload, also what a group-state function emits; `ts` is null after some outer joins. */
case class Ev(id: Int, ts: java.sql.Timestamp, v: Long)

case class Inner(x: Option[Long])
case class OptKey(o: Option[Inner], n: Long)
case class Named(s: String, d: Double)
case class NestKey(p: Named, t: Option[Int])

/** A type of key: how the key of a small number is made, and how Spark writes it. */
class KeyKind[K](val of: Int => K)(implicit val encoder: Encoder[K]) extends Serializable {
  /** The key's bytes as state has them. */
  def hex: K => String = {
    val serialize = encoderFor[K].createSerializer()
    key => serialize(key).asInstanceOf[org.apache.spark.sql.catalyst.expressions.UnsafeRow].getBytes
      .map(b => f"${b & 0xff}%02x").mkString
  }
}

/** Keys by type. The first few of each type are its edges: extremes, nulls, values that are equal in some sense. */
object Keys {
  private def pick[A](i: Int, edges: Seq[A])(other: Int => A): A = if (i < edges.size) edges(i) else other(i)

  /** Spread over the whole range of a long, half of them small. */
  def long(i: Int): Long = pick(i, Seq(0L, -1L, Long.MinValue, Long.MaxValue, 1L)) { n =>
    if (n % 2 == 0) n.toLong else n * 0x9e3779b97f4a7c15L >> n % 40
  }

  def int(i: Int): Int = pick(i, Seq(0, -1, Int.MinValue, Int.MaxValue))(n => if (n % 2 == 0) n else -n * 40503)

  private val Strings = Seq("", null, " ", "\u0000", "\u00e9\u00df", "\u4e2d\u6587\ud834\udd1e", "a\"b\\c\n")

  def string(i: Int): String = pick(i, Strings) { n =>
    val letter = ('A' + n % 26).toChar.toString
    if (n % 5 == 0) s"i2\u00e9a\u00e1r-$n" else letter * (n % 11) + n
  }

  def double(i: Int): Double =
    pick(i, Seq(0.0, -0.0, Double.NaN, Double.PositiveInfinity, Double.NegativeInfinity, Double.MinPositiveValue,
      -Double.MaxValue, java.lang.Double.longBitsToDouble(0xfff8000000000001L)))(n => (n - 50) * 1.37e3 / (1 + n % 7))

  def float(i: Int): Float = if (i == 7) java.lang.Float.intBitsToFloat(0xffc00001) else double(i).toFloat

  private def option(i: Int): OptKey = {
    val inner = i % 3 match {
      case 0 => None
      case 1 => Some(Inner(None))
      case _ => Some(Inner(Some(long(i / 3))))
    }
    OptKey(inner, i / 6)
  }

  private def tuple(i: Int): (Option[Long], Long) =
    (if (i % 4 == 0) None else Some(long(i / 4)), i % 5 - 2L)

  private def decimal(i: Int, scale: Int, digits: Int): BigDecimal = {
    val largest = BigDecimal(BigInt("9" * digits), scale)
    pick(i, Seq(BigDecimal(0, scale), largest, -largest))(n => BigDecimal(BigInt(long(n) % 10000000), scale))
  }

  private def session = org.apache.spark.sql.SparkSession.active

  def kind(name: String): KeyKind[_] = {
    implicit def numbered: Encoder[(Option[Long], Long)] = Encoders.product[(Option[Long], Long)]
    name match {
      case "long" => new KeyKind(long)(Encoders.scalaLong)
      case "string" => new KeyKind(string)(Encoders.STRING)
      case "int" => new KeyKind(int)(Encoders.scalaInt)
      case "short" => new KeyKind((i: Int) => int(i).toShort)(Encoders.scalaShort)
      case "byte" => new KeyKind((i: Int) => (i - 20).toByte)(Encoders.scalaByte)
      case "boolean" => new KeyKind((i: Int) => i % 2 == 0)(Encoders.scalaBoolean)
      case "date" => new KeyKind((i: Int) => LocalDate.ofEpochDay(i * 700L - 20000))(Encoders.LOCALDATE)
      case "time" => new KeyKind((i: Int) => Instant.ofEpochSecond((i - 20) * 86399L, i * 1000L))(Encoders.INSTANT)
      case "double" => new KeyKind(double)(Encoders.scalaDouble)
      case "float" => new KeyKind(float)(Encoders.scalaFloat)
//#if >=3.5
      case "dec10" => new KeyKind(decimal(_, 2, 10))(AgnosticEncoders.ScalaDecimalEncoder(DecimalType(10, 2)))
      case "dec38" => new KeyKind(decimal(_, 10, 38))(AgnosticEncoders.ScalaDecimalEncoder(DecimalType(38, 10)))
//#end
      case "binary" => new KeyKind((i: Int) => Array.tabulate(i % 12)(n => (i * 37 + n * n).toByte))(Encoders.BINARY)
      case "pair" => new KeyKind(tuple)
      case "opt" => new KeyKind(option)(Encoders.product[OptKey])
      case "nest" => new KeyKind((i: Int) =>
        NestKey(if (i % 7 == 0) null else Named(string(i / 2), double(i / 3)), if (i % 2 == 0) None else Some(i / 4)))(
        Encoders.product[NestKey])
      case "seq" => new KeyKind((i: Int) => Seq.tabulate(i % 4)(n => (i / 4) * n % 5 - 1))(sequences)
    }
  }

  private def sequences: Encoder[Seq[Int]] = {
    val spark = session
    import spark.implicits._
    implicitly[Encoder[Seq[Int]]]
  }
}
